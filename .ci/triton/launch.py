"""Compiles kernels of Triton to PTX, and launches them by the CUDA driver, without PyTorch."""

import ctypes
import functools
import re

import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

# Names of element types and of scalars in Triton's signatures.
ELEMENTS = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
}
SCALARS = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "fp32": ctypes.c_float}
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class DriverError(Exception):
    pass


@functools.cache
def driver():
    library = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert library.cuCtxSetCurrent(context) == 0
    return library


def compute_capability():
    """That of the device, times ten."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    call("cuDeviceGetAttribute", ctypes.byref(major), 75, 0)
    call("cuDeviceGetAttribute", ctypes.byref(minor), 76, 0)
    return major.value * 10 + minor.value


def call(name, *arguments):
    code = getattr(driver(), name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        driver().cuGetErrorName(code, ctypes.byref(text))
        raise DriverError(f"{name}: {text.value.decode()}")


def allocate(count):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(count, 256)))
    return address.value


class Buffer:
    """An array in the device's memory."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)
        self.address = allocate(self.array.nbytes)
        host = self.array.ctypes.data_as(ctypes.c_void_p)
        count = ctypes.c_size_t(self.array.nbytes)
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), host, count)

    def get(self):
        found = np.empty_like(self.array)
        host = found.ctypes.data_as(ctypes.c_void_p)
        count = ctypes.c_size_t(found.nbytes)
        call("cuMemcpyDtoH_v2", host, ctypes.c_uint64(self.address), count)
        return found


def signature(kernel, arguments, constants):
    """Types of the parameters, and which of them are multiples of 16, as Triton's launcher finds
    them. A pair is a number and its type, which is not specialised."""
    types, attributes = {}, {}
    rest = iter(arguments)
    for index, name in enumerate(kernel.arg_names):
        if name in constants:
            types[name] = "constexpr"
            continue
        argument = next(rest)
        aligned = False
        match argument:
            case Buffer():
                types[name] = "*" + ELEMENTS[str(argument.array.dtype)]
                aligned = True
            case (_, kind):
                types[name] = kind
            case int():
                types[name] = "i32"
                aligned = argument % 16 == 0
            case float():
                types[name] = "fp32"
        if aligned:
            attributes[(index,)] = [["tt.divisibility", 16]]
    return types, attributes


def launch(kernel, grid, arguments, constants, **options):
    types, attributes = signature(kernel, arguments, constants)
    constexprs = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=kernel, signature=types, constexprs=constexprs, attrs=attributes)
    target = GPUTarget("cuda", compute_capability(), 32)
    compiled = triton.compile(source, target=target, options=options)
    text, metadata = compiled.asm["ptx"], compiled.metadata
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(text.encode()))
    call("cuModuleGetFunction", ctypes.byref(function), module, metadata.name.encode())
    if metadata.shared > 48 * 1024:
        call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, metadata.shared)
    grid = tuple(grid) + (1,) * (3 - len(grid))
    blocks = (grid[0] * metadata.num_ctas, grid[1], grid[2])
    values = [
        value_of(argument, types[name])
        for argument, name in zip(arguments, (n for n in kernel.arg_names if n not in constants))
    ]
    # Behind them Triton has pointers to scratch memory of the grid, and of its profiler.
    of_block = getattr(metadata, "global_scratch_size", 0) or 0
    scratch = allocate(of_block * blocks[0] * blocks[1] * blocks[2]) if of_block else 0
    entry = text.split(".entry")[1].split(")")[0]
    for index in range(entry.count(".param") - len(values)):
        values.append(ctypes.c_uint64(0 if index else scratch))
    each = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    # Specialised warps are more than those that were asked for.
    bound = re.search(r"\.(?:reqntid|maxntid) (\d+)", text)
    threads = int(bound[1]) if bound else 32 * metadata.num_warps
    call("cuLaunchKernel", function, *blocks, threads, 1, 1, metadata.shared, None, each, None)
    call("cuCtxSynchronize")


def value_of(argument, kind):
    match argument:
        case Buffer():
            return ctypes.c_uint64(argument.address)
        case (value, _):
            return SCALARS[kind](value)
        case _:
            return SCALARS[kind](argument)


def close(found, expected, tolerance):
    """Compares with a tolerance that is absolute below 1 and relative above."""
    found = np.asarray(found, dtype=np.float64)
    expected = np.asarray(expected, dtype=np.float64)
    assert found.shape == expected.shape and np.isfinite(found).all(), "shape, or not finite"
    error = np.abs(found - expected) / (1 + np.abs(expected))
    worst = error.max(initial=0)
    assert worst <= tolerance, f"error {worst} at {np.argwhere(error > tolerance)[:3].tolist()}"

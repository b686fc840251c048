"""c = a + b on the emulator: vector_add.py LIBRARY FILE.ptx, with ctypes alone."""
import ctypes
import json
import sys
from ctypes import POINTER, byref, c_char_p, c_size_t, c_uint32, c_uint64, c_void_p


class LaunchConfig(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("grid", c_uint32 * 3), ("block", c_uint32 * 3),
                ("cluster", c_uint32 * 3), ("dynamic_shared_bytes", c_uint32),
                ("instruction_budget", c_uint64), ("workers", c_uint32), ("tools", c_uint32),
                ("counters", c_uint32), ("cooperative", c_uint32)]


emu = ctypes.CDLL(sys.argv[1])
for name in ("last_error", "report_json", "report_finding"):
    getattr(emu, "ptxemu_" + name).restype = c_char_p
emu.ptxemu_report_finding.argtypes = [c_void_p, c_size_t]
emu.ptxemu_report_finding_count.restype = c_size_t


def check(status):
    if status != 0:
        raise RuntimeError(emu.ptxemu_last_error().decode())


text = open(sys.argv[2], "rb").read()
module, kernel, memory, report = c_void_p(), c_void_p(), c_void_p(), c_void_p()
check(emu.ptxemu_module_load(text, c_size_t(len(text)), byref(module)))
check(emu.ptxemu_kernel_get(module, b"add", byref(kernel)))
check(emu.ptxemu_memory_create(c_uint64(1 << 20), byref(memory)))

# Kernels use the addresses of these arrays.
n = 1000
arrays = [(ctypes.c_float * n)(*values) for values in (range(n), [0.5] * n, [0] * n)]
for array in arrays:
    check(emu.ptxemu_map(memory, c_uint64(0), array, c_uint64(ctypes.sizeof(array))))


def launch(count, tools):
    values = [c_uint64(ctypes.addressof(array)) for array in arrays] + [c_uint32(count)]
    each = (c_void_p * 4)(*[ctypes.addressof(value) for value in values])
    config = LaunchConfig(struct_bytes=ctypes.sizeof(LaunchConfig), grid=(-(-count // 128), 1, 1),
                          block=(128, 1, 1), tools=tools, counters=1)
    return emu.ptxemu_launch(kernel, memory, byref(config), each, c_size_t(4), byref(report))


check(launch(n, 15))
assert all(arrays[2][i] == i + 0.5 for i in range(n))
counters = json.loads(emu.ptxemu_report_json(report))["counters"]["total"]
print(counters["flops"], "FLOPs,", emu.ptxemu_report_finding_count(report), "findings")
emu.ptxemu_report_free(report)

# Ten elements too many: the fault has a text, and is a finding.
assert launch(n + 10, 15) == 8
print(emu.ptxemu_last_error().decode())
assert b"out of bounds" in emu.ptxemu_report_finding(report, 0)
emu.ptxemu_report_free(report)

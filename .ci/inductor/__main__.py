"""Kernels that PyTorch's Inductor writes, each compared with PyTorch on the CPU:
python .ci/inductor [TEST...], on the device of the driver. One line for each; the exit status is 1
where one fails.

PyTorch's own kernels are machine code. So arrays come from the CPU, and what is compiled must not
fall back to them. The driver gets the PTX of Triton in the place of machine code.
"""

import os
import sys

# What compiles in other processes would not know of the PTX.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"/tmp/inductor-{os.getpid()}")
os.environ.setdefault("TRITON_CACHE_DIR", f"/tmp/inductor-{os.getpid()}/triton")

import torch
import torch._inductor.config
import torch._inductor.compile_fx  # noqa: F401, so that it is not loaded for each test
from triton.backends.nvidia.compiler import CUDABackend

from tests import TESTS


def ptx_as_binary(self, source, metadata, options, capability):
    return source.encode() + b"\0"


def on_gpu(value):
    return value.cuda() if isinstance(value, torch.Tensor) else value


def compare(name):
    function, arguments, tolerance = TESTS[name]
    wanted = function(*arguments)
    compiled = torch.compile(function, fullgraph=True, dynamic=False)
    found = compiled(*map(on_gpu, arguments))
    torch.testing.assert_close(
        torch.utils._pytree.tree_map(lambda one: one.cpu(), found),
        wanted,
        rtol=tolerance,
        atol=tolerance,
        check_stride=False,
    )


def run(name):
    """In a process of its own: after a fault no kernel of a process can run."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    status = 1
    try:
        compare(name)
        print("passed:", name, flush=True)
        status = 0
    except Exception as error:  # Of the compiler, of the driver, or a wrong result.
        text = " ".join(str(error).split())
        print(f"failed: {name}: {type(error).__name__}: {text[:300]}", flush=True)
    finally:
        os._exit(status)


CUDABackend.make_cubin = ptx_as_binary
# It computes with PyTorch's own kernels.
torch._inductor.config.joint_graph_constant_folding = False
results = [run(name) for name in sys.argv[1:] or TESTS]
print(f"{sum(results)} of {len(results)}")
sys.exit(not all(results))

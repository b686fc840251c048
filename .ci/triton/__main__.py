"""Kernels of Triton, each compared with NumPy: python .ci/triton [TEST...], on the device of the
driver. One line for each; the exit status is 1 where one fails."""

import os
import sys

import arithmetic  # noqa: F401, adds its tests
import products  # noqa: F401, adds its tests
from suite import TESTS


def run(name):
    """In a process of its own: after a fault no kernel of a process can run."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    status = 1
    try:
        TESTS[name]()
        print("passed:", name, flush=True)
        status = 0
    except Exception as error:  # Of the compiler, of the driver, or a wrong result.
        text = " ".join(str(error).split())
        print(f"failed: {name}: {type(error).__name__}: {text[:200]}", flush=True)
    finally:
        os._exit(status)


results = [run(name) for name in sys.argv[1:] or TESTS]
print(f"{sum(results)} of {len(results)}")
sys.exit(not all(results))

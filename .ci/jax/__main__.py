"""Functions that JAX compiles by XLA for a GPU, each compared with the same on the CPU:
python .ci/jax [TEST...], on the device of the driver. One line for each; the exit status is 1
where one fails.

Products and convolutions are not here: XLA asks for cuBLAS before it writes kernels of its own.
"""

import sys

from jax._src import hardware_utils

# JAX looks for the device file of a GPU, which there is none of.
hardware_utils.has_visible_nvidia_gpu = lambda: True

import jax
import numpy as np

from tests import TESTS


def run(function, arguments, device):
    with jax.default_device(device):
        placed = [jax.device_put(one, device) for one in arguments]
        return jax.tree.leaves(jax.jit(function)(*placed))


def compare(name):
    function, arguments, tolerance = TESTS[name]
    found = run(function, arguments, jax.devices("cuda")[0])
    wanted = run(function, arguments, jax.devices("cpu")[0])
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        values = [np.asarray(of).astype(np.float64) for of in (one, other)]
        np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance)


def main():
    failed = 0
    names = sys.argv[1:] or list(TESTS)
    for name in names:
        try:
            compare(name)
            print(f"passed: {name}", flush=True)
        except Exception as error:
            failed += 1
            line = " ".join(str(error).split())[:200]
            print(f"failed: {name}: {type(error).__name__}: {line}", flush=True)
    print(f"== jax: {len(names) - failed} of {len(names)} passed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

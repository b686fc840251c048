"""What the tests share: data, and the list of them."""

import ml_dtypes
import numpy as np

bf16 = ml_dtypes.bfloat16
e4 = ml_dtypes.float8_e4m3fn
e5 = ml_dtypes.float8_e5m2

rng = np.random.default_rng(1)
TESTS = {}


def test(function):
    TESTS[function.__name__] = function
    return function


def normal(*shape, dt=np.float32):
    return rng.standard_normal(shape).astype(np.float32).astype(dt)

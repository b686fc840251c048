"""A program of CuPy: every part compares with NumPy, and prints its name.

CuPy compiles its kernels by NVRTC, to PTX where CUPY_COMPILE_WITH_PTX is set. Versions up to 12 use
the CUDA runtime as a library; later ones have their own copy, which runs on NVIDIA's driver alone.
"""

import cupy as cp
import numpy as np

ADD = r"""
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""

SCALE = r"""
__device__ float factor = 3;
extern "C" __global__ void scale(float* x, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
"""


def check(name, found, expected, tolerance=0):
    np.testing.assert_allclose(cp.asnumpy(found), expected, rtol=tolerance, err_msg=name)
    print("passed:", name)


n = 1001
x = np.arange(n, dtype=np.float32)
y = 2 * x + 1
a = cp.arange(n, dtype=cp.float32)
b = a * 2 + 1
check("elementwise arithmetic", b, y)
check("a sum", b.sum(), y.sum())
m = np.arange(33 * 31).reshape(33, 31)
check("a maximum along an axis", cp.asarray(m).max(axis=1), m.max(axis=1))

c = cp.zeros_like(a)
blocks = ((n + 127) // 128,)
cp.RawKernel(ADD, "add")(blocks, (128,), (a, b, c, np.int32(n)))
check("RawKernel", c, x + y)
cp.RawModule(code=SCALE).get_function("scale")(blocks, (128,), (c, np.int32(n)))
check("RawModule with a variable", c, 3 * (x + y))

product = cp.ElementwiseKernel("T x, T y", "T z", "z = x * y - 1", "product_minus_1")
check("ElementwiseKernel", product(a, b), x * y - 1, 1e-6)
norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm_of_all")
check("ReductionKernel", norm(a), np.sqrt((x * x).sum()), 1e-5)


@cp.fuse()
def hypotenuse(x, y):
    return cp.sqrt(x * x + y * y)


check("fused functions", hypotenuse(a, b), np.hypot(x, y), 1e-6)
values = np.random.RandomState(7).rand(n)
check("sort", cp.sort(cp.asarray(values)), np.sort(values))
check("cumulative sum", cp.cumsum(a), np.cumsum(x), 1e-6)
check("unique", cp.unique(cp.asarray(m % 7)), np.unique(m % 7))
check("indices where a condition holds", cp.where(a > 990)[0], np.where(x > 990)[0])
check("a product of integers", cp.asarray(m) @ cp.asarray(m).T, m @ m.T)
with cp.cuda.Stream() as stream:
    total = (a + 1).sum()
    stream.synchronize()
check("a stream", total, (x + 1).sum())

// 128-bit integers, whose division compilers write with chains of carries.

typedef unsigned __int128 u128;
typedef __int128 i128;

extern "C" __global__ void unsigned_parts(const u128 *a, const u128 *b, u128 *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = a[i] * b[i];
    out[4 * i + 3] = a[i] - b[i];
}

extern "C" __global__ void signed_parts(const i128 *a, const i128 *b, i128 *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * i] = a[i] / b[i];
    out[2 * i + 1] = a[i] % b[i];
}

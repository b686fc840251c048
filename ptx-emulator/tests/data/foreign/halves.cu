// Arithmetic of f16, bf16 and pairs of them.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void f16(const __half *in, __half *out) {
    __half a = in[3 * threadIdx.x], b = in[3 * threadIdx.x + 1], c = in[3 * threadIdx.x + 2];
    __half *to = out + 10 * threadIdx.x;
    to[0] = __hadd_rn(a, b);
    to[1] = __hsub_rn(a, b);
    to[2] = __hmul_rn(a, b);
    to[3] = __hfma(a, b, c);
    to[4] = __hmin(a, b);
    to[5] = __hmax(a, b);
    to[6] = __hneg(a);
    to[7] = __habs(b);
    to[8] = __float2half_rn(__half2float(a) * 0.3f);
    to[9] = __hlt(a, b) ? __int2half_rn(7) : __double2half(2.5);
}

extern "C" __global__ void f16_pairs(const __half2 *in, __half2 *out) {
    __half2 a = in[3 * threadIdx.x], b = in[3 * threadIdx.x + 1], c = in[3 * threadIdx.x + 2];
    __half2 *to = out + 5 * threadIdx.x;
    to[0] = __hadd2_rn(a, b);
    to[1] = __hsub2_rn(a, b);
    to[2] = __hmul2_rn(a, b);
    to[3] = __hfma2(a, b, c);
    to[4] = __hmax2(a, b);
}

extern "C" __global__ void bf16(const __nv_bfloat16 *in, __nv_bfloat16 *out) {
    __nv_bfloat16 a = in[3 * threadIdx.x], b = in[3 * threadIdx.x + 1], c = in[3 * threadIdx.x + 2];
    __nv_bfloat16 *to = out + 6 * threadIdx.x;
    to[0] = __hadd_rn(a, b);
    to[1] = __hmul_rn(a, b);
    to[2] = __hfma(a, b, c);
    to[3] = __hmin(a, b);
    to[4] = __hmax(a, b);
    to[5] = __float2bfloat16_rn(__bfloat162float(a) * 0.3f);
}

extern "C" __global__ void bf16_pairs(const __nv_bfloat162 *in, __nv_bfloat162 *out) {
    __nv_bfloat162 a = in[3 * threadIdx.x], b = in[3 * threadIdx.x + 1], c = in[3 * threadIdx.x + 2];
    out[2 * threadIdx.x] = __hfma2(a, b, c);
    out[2 * threadIdx.x + 1] = __hadd2_rn(a, b);
}

extern "C" __global__ void atomic_halves(__half *f, __half2 *pairs) {
    atomicAdd(&f[threadIdx.x % 2], __int2half_rn(threadIdx.x % 8));
    atomicAdd(pairs, __halves2half2(__int2half_rn(1), __int2half_rn(2)));
}

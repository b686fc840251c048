// Sums over blocks, warps and grids.
#include "variants.h"

template <int BUG>
__device__ void reduce(const float* in, float* out, int n) {
  __shared__ float part[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (BUG == 11) {
    part[t] = in[i];  // @11
  } else if (BUG == 12) {
    if (i < n) part[t] = in[i];
  } else {
    part[t] = i < n ? in[i] : 0.0f;  // @8
  }
  __syncthreads();
  for (int s = blockDim.x / 2; s > 32; s >>= 1) {
    if (t < s) {
      part[t] += part[t + s];  // @8 @12
      if (BUG == 9) __syncthreads();  // @9
    }
    if (BUG != 8 && BUG != 9) __syncthreads();
  }
  if (t < 32) {
    for (int s = 32; s > 0; s >>= 1) {
      float other = part[t + s];  // @8 @10 @12
      if (BUG != 10) __syncwarp();
      part[t] += other;  // @10 @12
      if (BUG != 10) __syncwarp();
    }
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
#define REDUCE(NAME, BUG) \
  VARIANT(NAME, reduce<BUG>, (const float* in, float* out, int n), (in, out, n))
REDUCE(reduce_right, 0)
REDUCE(reduce_8, 8)
REDUCE(reduce_9, 9)
REDUCE(reduce_10, 10)
REDUCE(reduce_11, 11)
REDUCE(reduce_12, 12)

__device__ __forceinline__ float warp_sum(float x) {
  for (int s = 16; s > 0; s >>= 1) x += __shfl_down_sync(0xffffffffu, x, s);
  return x;
}

template <int BUG>
__device__ float block_sum(float x, float* scratch) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  x = warp_sum(x);
  if (lane == 0) scratch[warp] = x;  // @16
  __syncthreads();
  x = threadIdx.x < blockDim.x / 32 ? scratch[lane] : 0.0f;  // @16
  if (warp == 0) x = warp_sum(x);
  if (BUG != 16) __syncthreads();
  return x;
}

// Mean and variance: two sums through one scratch array.
template <int BUG>
__device__ void moments(const float* in, float* out, int n) {
  __shared__ float scratch[32];
  float x = threadIdx.x < n ? in[threadIdx.x] : 0.0f;
  float sum = block_sum<BUG>(x, scratch);
  float squares = block_sum<BUG>(x * x, scratch);
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = squares;
  }
}
VARIANT(moments_right, moments<0>, (const float* in, float* out, int n), (in, out, n))
VARIANT(moments_16, moments<16>, (const float* in, float* out, int n), (in, out, n))

template <int BUG>
__device__ void half_warp(const float* in, float* out) {
  float x = in[threadIdx.x];
  if (threadIdx.x < 16) {
    unsigned mask = BUG == 13 ? 0xffffffffu : 0xffffu;
    for (int s = 8; s > 0; s >>= 1) x += __shfl_xor_sync(mask, x, BUG == 13 ? 16 : s);  // @13
    out[threadIdx.x] = x;
  }
}
VARIANT(half_warp_right, half_warp<0>, (const float* in, float* out), (in, out))
VARIANT(half_warp_13, half_warp<13>, (const float* in, float* out), (in, out))

// The last block to finish adds up the sums of all.
template <int BUG>
__device__ void last_block(const float* in, float* sums, unsigned* counter, float* out) {
  __shared__ bool last;
  float x = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = x;  // @14
    if (BUG != 14) __threadfence();
    if (BUG == 15) {
      unsigned ticket = *counter;  // @15
      *counter = ticket + 1;       // @15
      last = ticket == gridDim.x - 1;
    } else {
      last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
  }
  __syncthreads();
  if (last) {
    if (BUG != 14) __threadfence();
    float sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += sums[i];  // @14
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *out = sum;
  }
}
#define LAST(NAME, BUG)                                                                    \
  VARIANT(NAME, last_block<BUG>, (const float* in, float* sums, unsigned* counter, float* out), \
          (in, sums, counter, out))
LAST(last_block_right, 0)
LAST(last_block_14, 14)
LAST(last_block_15, 15)

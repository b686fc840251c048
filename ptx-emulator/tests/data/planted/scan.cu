// Prefix sums.
#include "variants.h"

template <int BUG>
__device__ void hillis_steele(const int* in, int* out) {
  __shared__ int sums[128];
  int t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    int left = t >= d ? sums[t - d] : 0;  // @17
    if (BUG != 17) __syncthreads();
    sums[t] += left;  // @17
    __syncthreads();
  }
  out[t] = sums[t];
}
VARIANT(hillis_steele_right, hillis_steele<0>, (const int* in, int* out), (in, out))
VARIANT(hillis_steele_17, hillis_steele<17>, (const int* in, int* out), (in, out))

template <int BUG>
__device__ void blelloch(const int* in, int* out) {
  extern __shared__ int tree[];
  int t = threadIdx.x, n = 2 * blockDim.x;
  tree[2 * t] = in[2 * t];
  tree[2 * t + 1] = in[2 * t + 1];
  int offset = 1;
  for (int d = n / 2; d > 0; d /= 2) {
    __syncthreads();
    if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];  // @18
    offset *= 2;
  }
  if (t == 0) tree[n - 1] = 0;  // @18
  for (int d = 1; d < n; d *= 2) {
    offset /= 2;
    if (BUG != 18) __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      int left = tree[a];  // @18
      tree[a] = tree[b];   // @18
      tree[b] += left;     // @18
    }
  }
  __syncthreads();
  int shift = BUG == 20 ? 1 : 0;
  out[2 * t + shift] = tree[2 * t];
  out[2 * t + 1 + shift] = tree[2 * t + 1];  // @20
}
VARIANT(blelloch_right, blelloch<0>, (const int* in, int* out), (in, out))
VARIANT(blelloch_18, blelloch<18>, (const int* in, int* out), (in, out))
VARIANT(blelloch_20, blelloch<20>, (const int* in, int* out), (in, out))

// Each block waits for the sum of the one before it.
template <int BUG>
__device__ void chained(const int* in, int* sums, volatile int* ready, int* out) {
  __shared__ int before;
  int t = threadIdx.x, at = blockIdx.x * blockDim.x + t;
  if (t == 0) {
    int sum = 0;
    if (blockIdx.x > 0) {
      while (ready[blockIdx.x - 1] == 0) {
      }
      if (BUG != 19) __threadfence();
      sum = sums[blockIdx.x - 1];  // @19
    }
    before = sum;
    for (int i = 0; i < blockDim.x; i++) sum += in[blockIdx.x * blockDim.x + i];
    sums[blockIdx.x] = sum;  // @19
    if (BUG != 19) __threadfence();
    ready[blockIdx.x] = 1;
  }
  if (BUG != 46) __syncthreads();
  out[at] = before + in[at];  // @46
}
#define CHAINED(NAME, BUG)                                                             \
  VARIANT(NAME, chained<BUG>, (const int* in, int* sums, volatile int* ready, int* out), \
          (in, sums, ready, out))
CHAINED(chained_right, 0)
CHAINED(chained_19, 19)
CHAINED(chained_46, 46)

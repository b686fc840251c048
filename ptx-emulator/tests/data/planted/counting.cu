// Histograms, queues and counters.
#include "variants.h"

template <int BUG>
__device__ void histogram(const unsigned char* data, int n, unsigned* bins) {
  __shared__ unsigned local[256];
  __shared__ unsigned total;
  if (BUG != 4) {
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;  // @2
  }
  if (threadIdx.x == 0) total = 0;
  if (BUG != 2) __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned bin = data[i];
    if (BUG == 5) bin += 1;
    if (BUG == 3) {
      local[bin]++;  // @3
    } else {
      atomicAdd(&local[bin], 1u);  // @1 @2 @4 @5
    }
  }
  if (BUG != 1) __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    unsigned count = local[i];  // @1 @4
    if (count) {
      atomicAdd(&bins[i], count);
      atomicAdd(&total, count);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&bins[256], total);
}
#define HISTOGRAM(NAME, BUG)                                                     \
  VARIANT(NAME, histogram<BUG>, (const unsigned char* data, int n, unsigned* bins), \
          (data, n, bins))
HISTOGRAM(histogram_right, 0)
HISTOGRAM(histogram_1, 1)
HISTOGRAM(histogram_2, 2)
HISTOGRAM(histogram_3, 3)
HISTOGRAM(histogram_4, 4)
HISTOGRAM(histogram_5, 5)

template <int BUG>
__device__ void compact(const int* in, int n, int* out, int* count, int* log) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) {
    int at;
    if (BUG == 6) {
      at = *count;      // @6
      *count = at + 1;  // @6
    } else {
      at = atomicAdd(count, 1);  // @7
    }
    out[at] = in[i];  // @6
  }
  if (BUG == 7 && threadIdx.x == 0) log[blockIdx.x] = *count;  // @7
}
#define COMPACT(NAME, BUG)                                                            \
  VARIANT(NAME, compact<BUG>, (const int* in, int n, int* out, int* count, int* log), \
          (in, n, out, count, log))
COMPACT(compact_right, 0)
COMPACT(compact_6, 6)
COMPACT(compact_7, 7)

// A lock by compare and swap around a plain counter.
template <int BUG>
__device__ void locked(int* lock, int* sum) {
  if (threadIdx.x == 0) {
    if (BUG != 44) {
      while (atomicCAS(lock, 0, 1) != 0) {
      }
    }
    if (BUG != 45) __threadfence();
    *sum = *sum + 1;  // @44 @45
    if (BUG != 45) __threadfence();
    if (BUG != 44) atomicExch(lock, 0);
  }
}
VARIANT(locked_right, locked<0>, (int* lock, int* sum), (lock, sum))
VARIANT(locked_44, locked<44>, (int* lock, int* sum), (lock, sum))
VARIANT(locked_45, locked<45>, (int* lock, int* sum), (lock, sum))

// A maximum of floats by a loop of compare and swap, and a flag that all may set.
__device__ void maximum(const float* in, int n, int* best, int* negative) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int old = *best;
  while (__int_as_float(old) < in[i]) {
    int assumed = old;
    old = atomicCAS(best, assumed, __float_as_int(in[i]));
    if (old == assumed) break;
  }
  if (in[i] < 0) atomicExch(negative, 1);
}
VARIANT(maximum_right, maximum, (const float* in, int n, int* best, int* negative),
        (in, n, best, negative))

// cuda::pipeline, and a pair of cuda::barriers a stage.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "variants.h"
namespace cg = cooperative_groups;

// cuda::pipeline of a block.
template <int BUG>
__device__ void pipelined(const int* in, int* out, int steps) {
  __shared__ alignas(16) int stage[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int t = threadIdx.x, sum = 0;
  auto copy = [&](int k) {
    pipeline.producer_acquire();
    if (k < steps) cuda::memcpy_async(block, stage[k % 2], in + 64 * k, sizeof(int) * 64, pipeline);  // @29
    pipeline.producer_commit();
  };
  copy(0);
  for (int k = 0; k < steps; k++) {
    copy(k + 1);
    if (BUG != 29) pipeline.consumer_wait();
    sum += stage[k % 2][63 - t];  // @29
    {
      pipeline.consumer_release();
    }
  }
  out[t] = sum;
}
#define PIPELINED(NAME, BUG) \
  VARIANT(NAME, pipelined<BUG>, (const int* in, int* out, int steps), (in, out, steps))
PIPELINED(pipelined_right, 0)
PIPELINED(pipelined_29, 29)

// Warp 0 produces, warp 1 consumes, through two barriers of libcu++ a stage.
template <int BUG>
__device__ void specialised(const int* in, int* out, int steps) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ int stage[2][32];
  __shared__ barrier full[2], empty[2];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) {
    for (int i = 0; i < 2; i++) init(full + i, 64), init(empty + i, 64);
  }
  if (BUG != 37) block.sync();
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < steps; k++) {
      empty[k % 2].arrive_and_wait();                 // @37
      stage[k % 2][lane] = in[32 * k + lane];         // @34
      full[k % 2].arrive();
    }
  } else {
    int sum = 0;
    empty[0].arrive();
    empty[1].arrive();
    for (int k = 0; k < steps; k++) {
      full[k % 2].arrive_and_wait();  // @37
      if (BUG == 34) empty[k % 2].arrive();
      sum += stage[k % 2][31 - lane];  // @34
      if (BUG != 34) empty[k % 2].arrive();
    }
    out[lane] = sum;
  }
}
#define SPECIALISED(NAME, BUG) \
  VARIANT(NAME, specialised<BUG>, (const int* in, int* out, int steps), (in, out, steps))
SPECIALISED(specialised_right, 0)
SPECIALISED(specialised_34, 34)
SPECIALISED(specialised_37, 37)

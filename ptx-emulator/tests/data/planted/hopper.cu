// Bulk copies, mbarriers by PTX, and clusters: what compute capability 9.0 has.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include "variants.h"
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// A bulk copy in, and one out.
template <int BUG>
__device__ void bulk(const int* in, int* out) {
  __shared__ alignas(128) int tile[128];
  __shared__ cuda::std::uint64_t bar;
  int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&bar, BUG == 33 ? 129 : 128);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  cuda::std::uint64_t token;
  if (t == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, 512, &bar);  // @32
    token = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 512);
  } else {
    token = ptx::mbarrier_arrive(&bar);
  }
  if (BUG != 32) {
    while (!ptx::mbarrier_try_wait(&bar, token)) {  // @33
    }
  }
  tile[t] += 1;  // @32 @35 @36
  if (BUG != 36) ptx::fence_proxy_async(ptx::space_shared);
  if (BUG != 35) __syncthreads();
  if (t == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, tile, 512);  // @35 @36
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
VARIANT(bulk_right, bulk<0>, (const int* in, int* out), (in, out))
VARIANT(bulk_32, bulk<32>, (const int* in, int* out), (in, out))
VARIANT(bulk_33, bulk<33>, (const int* in, int* out), (in, out))
VARIANT(bulk_35, bulk<35>, (const int* in, int* out), (in, out))
VARIANT(bulk_36, bulk<36>, (const int* in, int* out), (in, out))

// Blocks of a cluster read each other's shared memory.
template <int BUG>
__device__ void neighbours(const int* in, int* out) {
  __shared__ int tile[64];
  cg::cluster_group cluster = cg::this_cluster();
  int t = threadIdx.x;
  tile[t] = in[64 * blockIdx.x + t];  // @54
  if (BUG == 54) __syncthreads();
  if (BUG != 54) cluster.sync();
  unsigned other = (cluster.block_rank() + 1) % cluster.num_blocks();
  int* theirs = cluster.map_shared_rank(tile, other);
  int value = theirs[63 - t];  // @54 @55
  if (BUG != 55) cluster.sync();
  tile[t] = value;  // @55
  __syncthreads();
  out[64 * blockIdx.x + t] = tile[63 - t];
  if (BUG == 55) cluster.sync();
}
VARIANT(neighbours_right, neighbours<0>, (const int* in, int* out), (in, out))
VARIANT(neighbours_54, neighbours<54>, (const int* in, int* out), (in, out))
VARIANT(neighbours_55, neighbours<55>, (const int* in, int* out), (in, out))

// A histogram whose bins are spread over the cluster.
template <int BUG>
__device__ void spread(const int* in, int n, int* out) {
  __shared__ int bins[64];
  cg::cluster_group cluster = cg::this_cluster();
  bins[threadIdx.x] = 0;  // @56
  if (BUG != 56) cluster.sync();
  if (BUG == 56) __syncthreads();
  for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
    int bin = in[i] % (64 * cluster.num_blocks());
    atomicAdd(cluster.map_shared_rank(bins, bin / 64) + bin % 64, 1);  // @56 @57
  }
  if (BUG != 57) cluster.sync();
  atomicAdd(&out[64 * cluster.block_rank() + threadIdx.x], bins[threadIdx.x]);  // @57
  if (BUG == 57) cluster.sync();
}
VARIANT(spread_right, spread<0>, (const int* in, int n, int* out), (in, n, out))
VARIANT(spread_56, spread<56>, (const int* in, int n, int* out), (in, n, out))
VARIANT(spread_57, spread<57>, (const int* in, int n, int* out), (in, n, out))

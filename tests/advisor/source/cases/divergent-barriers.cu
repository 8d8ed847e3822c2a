// A barrier counts when threads of one block surely disagree about reaching it.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define BLOCK 256
__global__ void under_condition(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    a[i] += 1;
    __syncthreads();  // expect: divergent-barriers
  }
}
__global__ void guarded_work(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += 1;
  __syncthreads();
}
__global__ void one_thread(float *a) {
  if (threadIdx.x == 0) {
    a[0] = 1;
    __syncthreads();  // expect: divergent-barriers
  }
}
__global__ void by_block(float *a) {
  if (blockIdx.x == 0) {
    a[0] = 1;
    __syncthreads();
  }
}
__global__ void by_parameter(float *a, bool last) {
  if (last) __syncthreads();
}
__global__ void uneven_loop(float *a, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    a[i] += 1;
    __syncthreads();  // expect: divergent-barriers
  }
}
__global__ void rounded_loop(float *a, int n) {
  int imax = blockDim.x * ((n + blockDim.x - 1) / blockDim.x);
  for (int i = threadIdx.x; i < imax; i += blockDim.x) {
    if (i < n) a[i] += 1;
    __syncthreads();
  }
}
__global__ void reduction(float *a) {
  __shared__ float s[BLOCK];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  for (int step = BLOCK / 2; step > 0; step >>= 1) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
}
template <int N> __global__ void constant_count(float *a) {
  for (int i = threadIdx.x; i < N; i += BLOCK) {
    a[i] += 1;
    __syncthreads();
  }
}
template <bool SYNC> __global__ void constant_condition(float *a) {
  if (SYNC) __syncthreads();
  if constexpr (SYNC) { __syncthreads(); }
}
__global__ void warps_apart(float *a) {
  if (threadIdx.x / 32 == 0) {
    __syncthreads();  // expect: divergent-barriers
  }
}
__global__ void warp_barrier(float *a) {
  if (threadIdx.x < 32) {
    a[threadIdx.x] = 1;
    __syncwarp();
  }
}
__global__ void groups(float *a, int n) {
  cg::thread_block cta = cg::this_thread_block();
  if (threadIdx.y < 2) {
    cta.sync();  // expect: divergent-barriers
  }
  auto tile = cg::tiled_partition<32>(cta);
  if (threadIdx.x < 32) tile.sync();
}
__global__ void vote(float *a, int n) {
  bool any = threadIdx.x < n;
  if (__syncthreads_or(any)) {
    __syncthreads();
  }
}
__global__ void from_memory(const int *flag) {
  if (flag[blockIdx.x]) __syncthreads();
}
__global__ void else_branch(float *a) {
  if (threadIdx.x % 2) {
    a[threadIdx.x] = 1;
  } else {
    __syncthreads();  // expect: divergent-barriers
  }
}
__global__ void early_return(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  a[i] = 1;
  __syncthreads();
}
__global__ void whole_block(float *a) {
  if (threadIdx.x < BLOCK) {
    __syncthreads();
  }
}
__device__ void unknown_argument(int active) {
  if (active) __syncthreads();
}
#define GUARDED_SYNC(c) if (c) __syncthreads()
__global__ void macro(float *a) { GUARDED_SYNC(blockIdx.x > 0); }
__global__ void uniform_loop(float *a, int n) {
  for (int tile = 0; tile < n; tile += BLOCK) {
    a[tile + threadIdx.x] = 0;
    __syncthreads();
  }
}
__global__ void several_in_one(float *a, int n) {
  if (threadIdx.x < n) {
    a[0] = 1;
    __syncthreads();  // expect: divergent-barriers
    a[1] = 2;
    __syncthreads();
    for (int i = 0; i < n; ++i) __syncthreads();
  }
}
__global__ void two_counters(float *a, const float *in, int n) {
  for (int i = threadIdx.x; i < 256; i += blockDim.x) a[i] = in[i];
  for (int i = blockIdx.x * BLOCK; i < n; i += gridDim.x * BLOCK) {
    __syncthreads();
    a[i + threadIdx.x] = 0;
  }
}
__global__ void left_before_the_barrier(float *x, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = x[i];
  __syncthreads();  // expect: divergent-barriers
  x[i] = tile[255 - threadIdx.x];
}
__global__ void left_before_the_collective(float *out, const float *x, int n) {
  typedef cub::BlockReduce<float, 256> BlockReduce;
  __shared__ typename BlockReduce::TempStorage storage;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    return;
  }
  float sum = BlockReduce(storage).Sum(x[i]);  // expect: divergent-barriers
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
__global__ void block_left_before_the_barrier(float *x, int n) {
  if (blockIdx.x * 256 >= n) return;
  __syncthreads();
  x[threadIdx.x] = 0;
}
__global__ void left_after_the_barrier(float *x, int n) {
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = 0;
}
__device__ float sum_of_block(float *tile) {
  __syncthreads();
  return tile[0] + tile[1];
}
__device__ float sum_of_pair(float *tile) { return tile[0] + tile[1]; }
__global__ void barrier_in_a_function(float *x) {
  __shared__ float tile[64];
  if (threadIdx.x < 16) {
    x[0] = sum_of_block(tile);  // expect: divergent-barriers
  }
}
__global__ void no_barrier_in_a_function(float *x) {
  __shared__ float tile[64];
  if (threadIdx.x < 16) x[0] = sum_of_pair(tile);
}
__global__ void barrier_in_a_function_for_all(float *x) {
  __shared__ float tile[64];
  if (blockIdx.x < 16) x[0] = sum_of_block(tile);
}
__global__ void rounds_counted_from_the_own_start(const float *x, float *out, int n, int stride) {
  __shared__ float tile[64];
  int i = threadIdx.x * stride;
  int last = i + n * stride;
  do {
    tile[threadIdx.x] = x[i];
    i += 64 * stride;
    __syncthreads();
    if (threadIdx.x == 0) out[0] += tile[63];
    __syncthreads();
  } while (i < last);
}
__global__ void rounds_to_a_limit_of_each_thread(const float *x, float *out, int n) {
  __shared__ float tile[64];
  int i = threadIdx.x;
  int last = threadIdx.x * n;
  while (i < last) {
    tile[threadIdx.x] = x[i];
    i += 64;
    __syncthreads();  // expect: divergent-barriers
    out[threadIdx.x] = tile[63 - threadIdx.x];
  }
}
__global__ void cleared_by_all(float *x, int *label, int n, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __shared__ float sums[64];
  for (int k = threadIdx.x; k < bins; k += blockDim.x) sums[k] = 0;
  __syncthreads();  // expect: divergent-barriers
  atomicAdd(&sums[label[i]], x[i]);
}
__global__ void cleared_by_one(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float sum;
  if (i >= n) return;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[i]);
}

// Barriers as libraries write them: templates, macros, cooperative groups, lambdas, conditional code.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define SYNC_BLOCK() __syncthreads()
#ifndef WIDTH
#define WIDTH 128
#endif
template <int BLOCK, typename T> __global__ void tile_of_template(T *out, const T *in, int n) {
  __shared__ T tile[BLOCK];
  for (int base = blockIdx.x * BLOCK; base < n; base += gridDim.x * BLOCK) {
    if (base + threadIdx.x < n) tile[threadIdx.x] = in[base + threadIdx.x];
    __syncthreads();
    if (base + threadIdx.x < n) out[base + threadIdx.x] = tile[BLOCK - 1 - threadIdx.x];
    __syncthreads();
  }
}
template <typename T> __global__ void barrier_in_the_guard(T *out, const T *in, int n) {
  __shared__ T tile[WIDTH];
  const int i = blockIdx.x * WIDTH + threadIdx.x;
  if (i < n && in[i] > T(0)) {
    tile[threadIdx.x] = in[i];
    __syncthreads();  // expect: divergent-barriers
    out[i] = tile[WIDTH - 1 - threadIdx.x];
  }
}
__global__ void by_conditional_compilation(float *a, int n) {
#ifdef CHECK_BOUNDS
  if (blockIdx.x * blockDim.x < n)
#endif
  {
    a[threadIdx.x] += 1;
    __syncthreads();
  }
}
__global__ void lane_zero(float *a) {
  const int lane = threadIdx.x & 31;
  if (lane == 0) {
    a[threadIdx.x / 32] = 1;
    __syncthreads();  // expect: divergent-barriers
  }
}
__global__ void switch_on_the_warp(float *a) {
  switch (threadIdx.x / 32) {
    case 0:
      a[0] = 1;
      __syncthreads();  // expect: divergent-barriers
      break;
    default:
      a[1] = 1;
  }
}
__global__ void switch_on_a_parameter(float *a, int mode) {
  switch (mode) {
    case 0: __syncthreads(); break;
    default: a[0] = 1;
  }
}
__global__ void group_of_a_warp(int *a) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  if (warp.meta_group_rank() == 0) {
    a[warp.thread_rank()] = 1;
    warp.sync();
  }
  block.sync();
}
__global__ void rank_in_the_block(int *a) {
  cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() < 7) {
    a[block.thread_rank()] = 1;
    cg::sync(block);  // expect: divergent-barriers
  }
}
__global__ void lambda_of_all_threads(float *a, int n) {
  auto step = [&](int k) {
    a[k] += 1;
    __syncthreads();
  };
  for (int k = 0; k < n; ++k) step(k);
}
__global__ void while_blocks_are_left(float *a, int n) {
  int first = blockIdx.x * blockDim.x;
  while (first < n) {
    __syncthreads();
    first += gridDim.x * blockDim.x;
    a[first] = 1;
  }
}
__global__ void each_thread_leaves_alone(float *a, int n) {
  int i = threadIdx.x;
  while (i < n) {
    a[i] += 1;
    i += blockDim.x;
    __syncthreads();  // expect: divergent-barriers
  }
}
__global__ void broadcast_flag(int *done, const int *in) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = in[blockIdx.x];
  __syncthreads();
  if (flag) {
    __syncthreads();
    done[0] = 1;
  }
}
__global__ void uniform_by_vote(int *out, const int *in) {
  int more = 1;
  do {
    more = __syncthreads_count(in[threadIdx.x] > more);
    __syncthreads();
  } while (more);
  out[0] = more;
}
__global__ void macro_in_a_row(float *a) {
  if (threadIdx.y == 0) a[0] = 1;
  SYNC_BLOCK();
  if (blockIdx.y == 0) SYNC_BLOCK();
}
__global__ void in_both_branches(float *a, int even) {
  if (even) {
    a[0] = 1;
    __syncthreads();
  } else {
    a[1] = 1;
    __syncthreads();
  }
}
template <bool LAST> __global__ void last_block_only(float *a, unsigned *ticket) {
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
  __syncthreads();
  if (LAST && last) {
    a[threadIdx.x] = 0;
    __syncthreads();
  }
}
__device__ void named_barrier(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count)); }
__global__ void producers_and_consumers(float *a) {
  if (threadIdx.x < 64) named_barrier(1, 64);
  a[threadIdx.x] = 1;
}

// Branches of warps as people write them.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ void work(float *a) { a[0] = 1; }
__device__ void other(float *a) { a[0] = 2; }
constexpr int kWarp = 32;
template <typename T> __global__ void pairs_exchange(T *s, int n) {
  const int t = threadIdx.x;
  if ((t & 1) == 0) {  // expect: divergent-branches
    for (int k = 0; k < n; ++k) s[t] += s[t + k];
  } else {
    for (int k = 0; k < n; ++k) s[t] -= s[t - k];
  }
}
template <int WARPS> __global__ void by_role_of_the_warp(float *a) {
  const int warp = threadIdx.x / kWarp;
  if (warp % 2 == 0) {
    work(a);
  } else {
    other(a);
  }
}
__global__ void modulo_a_constant(float *a) {
  if (threadIdx.x % kWarp == 0) {
    work(a);
    other(a);
  }
}
__global__ void modulo_four(float *a, int n) {
  const int quad = threadIdx.x % 4;
  if (threadIdx.x % 4 == 3 && n > 0) {  // expect: divergent-branches
    for (int k = 0; k < n; ++k) a[quad] += k;
  }
}
__global__ void rows_of_a_tile(float *a) {
  if (threadIdx.y % 2 == 0) {
    work(a);
  } else {
    other(a);
  }
}
__global__ void element_parity(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 2) {  // expect: divergent-branches
    work(a + i);
  } else {
    other(a + i);
  }
}
__global__ void doubled_stride(int *s) {
  for (unsigned stride = 1; stride < blockDim.x; stride <<= 1) {
    unsigned i = 2 * stride * threadIdx.x;
    if (i < blockDim.x) s[i] += s[i + stride];
    __syncthreads();
  }
}
__global__ void tail_of_the_row(float *a, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x + 1 < width && x > 0) {
    work(a + x);
  } else {
    other(a + x);
  }
}
__global__ void selected(float *a) { a[threadIdx.x] = (threadIdx.x & 1) ? 1.0f : 2.0f; }
__global__ void rank_of_a_tile(float *a) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  if (tile.thread_rank() == 0) work(a);
}
__global__ void flag_bits(float *a, unsigned flags) {
  if (flags & 4) {
    work(a);
  } else {
    other(a);
  }
}
__global__ void odd_even_sort(int *keys, int n) {
  for (int phase = 0; phase < n; ++phase) {
    int i = 2 * threadIdx.x + (phase & 1);
    if (i + 1 < n && keys[i] > keys[i + 1]) {
      int k = keys[i];
      keys[i] = keys[i + 1];
      keys[i + 1] = k;
    }
    __syncthreads();
  }
}
__global__ void warps_by_mask(float *a) {
  if (threadIdx.x & 32) {
    work(a);
  } else {
    other(a);
  }
}
__global__ void every_other_half_warp(float *a) {
  if (threadIdx.x & 16) {  // expect: divergent-branches
    work(a);
  } else {
    other(a);
  }
}
__global__ void even_lanes_of_a_warp(float *a, int n) {
  const int lane = threadIdx.x % kWarp;
  if (threadIdx.x % 2 == 0) {  // expect: divergent-branches
    for (int k = 0; k < n; ++k) a[lane] += a[k];
  }
}
__global__ void sum_by_halving_pairs(int *s) {
  for (int step = 1; step < blockDim.x; step *= 2) {
    if (threadIdx.x % (step * 2) == 0) s[threadIdx.x] += s[threadIdx.x + step];  // expect: divergent-branches
    __syncthreads();
  }
}
__global__ void red_and_black(float *a, int sweeps) {
  const int x = threadIdx.x;
  if ((x & 1) != 0) {  // expect: divergent-branches
    for (int k = 0; k < sweeps; ++k) a[x] = 0.5f * (a[x - 1] + a[x + 1]);
  } else {
    work(a);
  }
}

// Tiles of matrix products and stencils.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
template <int B> __global__ void product(float *c, const float *a, const float *b, int wa, int wb) {
  float sum = 0;
  for (int k = 0; k < wa; k += B) {
    __shared__ float as[B][B];
    __shared__ float bs[B][B];
    as[threadIdx.y][threadIdx.x] = a[wa * threadIdx.y + k + threadIdx.x];  // expect: synchronous-staging
    bs[threadIdx.y][threadIdx.x] = b[wb * (k + threadIdx.y) + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < B; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  c[wb * threadIdx.y + threadIdx.x] = sum;
}
__global__ void first_tile_only(float *c, const float *a, int n) {
  __shared__ float s[256];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < n; ++k) c[k] += s[k & 255];
}
__global__ void converted(float *c, const __half *a, int n) {
  __shared__ float s[256];
  for (int k = 0; k < n; k += 256) {
    s[threadIdx.x] = __half2float(a[k + threadIdx.x]);
    __syncthreads();
    c[k] = s[0];
    __syncthreads();
  }
}
__global__ void guarded_by_choice(float *c, const float *a, int n) {
  __shared__ float s[256];
  for (int k = 0; k < n; k += 256) {
    s[threadIdx.x] = k + threadIdx.x < n ? a[k + threadIdx.x] : 0.0f;
    __syncthreads();
    c[k] = s[0];
    __syncthreads();
  }
}
__global__ void reduction(float *out) {
  __shared__ float s[256];
  s[threadIdx.x] = threadIdx.x;
  for (int step = 128; step > 0; step >>= 1) {
    __syncthreads();
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
  }
  out[blockIdx.x] = s[0];
}
__global__ void written_back(float *out, const float *in, int n) {
  __shared__ float s[256];
  for (int k = 0; k < n; k += 256) {
    __syncthreads();
    out[k + threadIdx.x] = s[255 - threadIdx.x];
  }
}
__global__ void bodies(float *out, const int *index, int n) {
  extern __shared__ int cached[];
  auto block = cg::this_thread_block();
  for (int k = 0; k < n; k += blockDim.x) {
    cached[threadIdx.x] = index[k + threadIdx.x];  // expect: synchronous-staging
    block.sync();
    for (int j = 0; j < blockDim.x; ++j) out[threadIdx.x] += cached[j];
    block.sync();
  }
}
__global__ void warps_alone(float *out, const float *in, int n) {
  __shared__ float s[32];
  for (int k = 0; k < n; k += 32) {
    s[threadIdx.x] = in[k + threadIdx.x] + 1.0f;
    __syncwarp();
    out[k] = s[31 - threadIdx.x];
  }
}
__global__ void two_dimensional(float *out, const float *in, int pitch, int tiles) {
  __shared__ float tile[32][33];
  for (int t = 0; t < tiles; ++t) {
    tile[threadIdx.y][threadIdx.x] = in[(t * 32 + threadIdx.y) * pitch + threadIdx.x];  // expect: synchronous-staging
    __syncthreads();
    out[(t * 32 + threadIdx.y) * pitch + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
    __syncthreads();
  }
}
__global__ void several_rows_each(float *out, const float *in, int n) {
  __shared__ float tile[1024];
  for (int base = 0; base < n; base += 1024) {
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) tile[k] = in[base + k];
    __syncthreads();
    out[base + threadIdx.x] = tile[1023 - threadIdx.x];
    __syncthreads();
  }
}
__global__ void unsigned_keys(unsigned *out, const unsigned *keys, int n) {
  __shared__ unsigned cache[128];
  int base = 0;
  do {
    cache[threadIdx.x] = keys[base + threadIdx.x];  // expect: synchronous-staging
    __syncthreads();
    out[base] = cache[127];
    __syncthreads();
    base += 128;
  } while (base < n);
}

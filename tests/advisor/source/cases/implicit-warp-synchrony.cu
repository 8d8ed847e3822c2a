// Trees whose last steps, of one warp, follow each other without a barrier.
#define N 256
__device__ void of_a_warp(volatile float *part, unsigned int tid) {
  part[tid] += part[tid + 32];  // expect: implicit-warp-synchrony
  part[tid] += part[tid + 16];
  part[tid] += part[tid + 8];
  part[tid] += part[tid + 4];
  part[tid] += part[tid + 2];
  part[tid] += part[tid + 1];
}
template <int block> __global__ void in_the_kernel(float *out, const float *x) {
  __shared__ float part[block];
  int tid = threadIdx.x;
  float sum = x[tid];
  part[tid] = sum;
  __syncthreads();
  if (tid < 32) {
    volatile float *memory = part;
    if (block >= 64) memory[tid] = sum = sum + memory[tid + 32];  // expect: implicit-warp-synchrony
    if (block >= 32) memory[tid] = sum = sum + memory[tid + 16];
    if (block >= 16) memory[tid] = sum = sum + memory[tid + 8];
  }
  if (tid == 0) out[0] = part[0];
}
__global__ void not_even_volatile(float *out) {
  __shared__ float part[64];
  int tid = threadIdx.x;
  if (tid < 16) {
    part[tid] = fmaxf(part[tid], part[tid + 16]);  // expect: implicit-warp-synchrony
    part[tid] = fmaxf(part[tid], part[tid + 8]);
  }
  out[0] = part[0];
}
__global__ void by_a_loop(float *out) {
  extern __shared__ float part[];
  if (threadIdx.x < 32)
    for (int s = 32; s > 0; s >>= 1)  // expect: implicit-warp-synchrony
      part[threadIdx.x] += part[threadIdx.x + s];
  out[0] = part[0];
}
__device__ void sums_so_far(volatile int *s, int i) {
  s[i] += s[i - 1];  // expect: implicit-warp-synchrony
  s[i] += s[i - 2];
  s[i] += s[i - 4];
}
__global__ void of_two_dimensions(float *out) {
  __shared__ float all[4 * 64];
  volatile float *row = &all[threadIdx.y * 64];
  if (threadIdx.x < 32) {
    row[threadIdx.x] += row[threadIdx.x + 4];  // expect: implicit-warp-synchrony
    row[threadIdx.x] += row[threadIdx.x + 2];
  }
  out[0] = row[0];
}
__global__ void with_barriers(float *out) {
  __shared__ float part[N];
  int tid = threadIdx.x;
  if (tid < 32) part[tid] += part[tid + 32];
  __syncthreads();
  if (tid < 16) part[tid] += part[tid + 16];
  __syncthreads();
  out[0] = part[0];
}
__device__ void with_barriers_of_the_warp(volatile float *part, int tid) {
  float own = part[tid];
  own += part[tid + 16]; __syncwarp();
  part[tid] = own; __syncwarp();
  part[tid] += part[tid + 8]; __syncwarp();
  part[tid] += part[tid + 4]; __syncwarp();
}
__global__ void by_shuffles(float *out, float own) {
  __shared__ float part[32];
  for (int s = 16; s > 0; s >>= 1) own += __shfl_down_sync(0xffffffff, own, s);
  part[threadIdx.x] = own;
  out[0] = own;
}
#if __CUDA_ARCH__ < 700
__device__ void for_old_architectures(volatile float *part, int tid) {
  part[tid] += part[tid + 16];
  part[tid] += part[tid + 8];
}
#endif
__device__ void called_by_old_compilers(volatile float *part, int tid) {
  part[tid] += part[tid + 16];
  part[tid] += part[tid + 8];
}
__global__ void of_both(float *out) {
  extern __shared__ float part[];
#if CUDART_VERSION >= 9000
  out[0] = part[0];
#else
  called_by_old_compilers(part, threadIdx.x);
#endif
}
__global__ void a_loop_with_barriers(float *out) {
  __shared__ float part[N];
  for (int s = N / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  out[0] = part[0];
}
__global__ void one_step(float *out) {
  __shared__ float part[N];
  part[threadIdx.x] += part[threadIdx.x + 16];
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}
__device__ void of_larger_distances(float *out) {
  __shared__ float part[512];
  int tid = threadIdx.x;
  if (tid < 128) part[tid] += part[tid + 128];
  if (tid < 64) part[tid] += part[tid + 64];
  out[tid] = part[tid];
}
__global__ void of_global_memory(volatile float *x) {
  for (int i = 0; i < 4; ++i) x[i] += x[i + 32];
  x[threadIdx.x] += x[threadIdx.x + 4];
  x[threadIdx.x] += x[threadIdx.x + 2];
}
__device__ void records(float *part, int i) {
  part[i] += part[i + 1];
  part[i] += part[i + 2];
}
__global__ void stencil(float *out, const float *x) {
  __shared__ float tile[N];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2];
}
__global__ void of_arrays(float *out) {
  __shared__ float a[N], b[N];
  a[threadIdx.x] += a[threadIdx.x + 16];
  b[threadIdx.x] += b[threadIdx.x + 8];
  __syncthreads();
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
__global__ void not_halved(float *out) {
  __shared__ float part[N];
  for (int s = 32; s > 0; s -= 1) out[threadIdx.x] += part[threadIdx.x + s];
}
__global__ void of_the_block(float *out, const float *x, int n) {
  __shared__ float part[N];
  for (int s = n; s > 0; s >>= 1) out[threadIdx.x] += part[threadIdx.x + s] * x[s];
}

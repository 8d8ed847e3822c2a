// Partial results in shared memory that one thread of a block takes one after the other.
#define BLOCK 512
__global__ void of_a_block(float *out, const float *x) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < 256; ++i) sum += part[i];  // expect: serial-reductions
    out[blockIdx.x] = sum;
  }
}
__global__ void through_memory(float *out, const float *x) {
  __shared__ float part[BLOCK];
  int p = threadIdx.x;
  part[p] = x[p];
  __syncthreads();
  if (p == 0) {
    for (int i = 0; i < BLOCK; ++i) out[blockIdx.x] += part[i];  // expect: serial-reductions
  }
}
__global__ void as_many_as_threads(float *out, const float *x) {
  extern __shared__ float part[];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (!threadIdx.x)
    for (int i = 1; i < blockDim.x; ++i) part[0] += part[i];  // expect: serial-reductions
  out[blockIdx.x] = part[0];
}
__global__ void largest(float *out, const float *x) {
  __shared__ float part[128];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float most = -1;
  if (threadIdx.x == 0 && x) {
    for (int i = 0; i < 128; ++i) most = max(most, part[i]);  // expect: serial-reductions
    out[blockIdx.x] = most;
  }
}
__global__ void size_in_a_name(float *out, const float *x) {
  const int threads = BLOCK;
  __shared__ float part[threads];
  int id = threadIdx.x;
  part[id] = x[id];
  __syncthreads();
  if (id == 0) {
    for (int i = 0; i < threads; ++i) out[0] = out[0] + part[i];  // expect: serial-reductions
  }
}
__global__ void products(float *out, const float *x) {
  __shared__ float part[32];
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if ((threadIdx.x) == 0) {
    float sum = 0;
    for (int i = 0; i < 32; i++) sum += part[i] * part[i];  // expect: serial-reductions
    out[0] = sum;
  }
}
__global__ void one_of_each_warp(float *out, const float *x) {
  __shared__ float part[8];
  part[threadIdx.x / 32] = x[threadIdx.x];
  if (threadIdx.x == 0)
    for (int i = 0; i < 8; ++i) out[0] += part[i];
}
__global__ void by_all(float *out, const float *x) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += part[i];
  out[threadIdx.x] = sum;
}
__global__ void tree(float *out, const float *x) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  for (int s = 128; s > 0; s /= 2) {
    __syncthreads();
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
  }
  if (threadIdx.x == 0) out[0] = part[0];
}
__global__ void by_one_warp(float *out, const float *x) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  float sum = 0;
  if (threadIdx.x < 32)
    for (int i = 0; i < 256; i += 32) sum += part[i + threadIdx.x];
  out[threadIdx.x] = sum;
}
__global__ void fills(float *out) {
  __shared__ float part[256];
  if (threadIdx.x == 0)
    for (int i = 0; i < 256; ++i) part[i] = i;
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}
__global__ void from_global_memory(float *out, const float *x) {
  __shared__ float sum;
  if (threadIdx.x == 0)
    for (int i = 0; i < 256; ++i) sum += x[i];
  out[threadIdx.x] = sum;
}
__global__ void of_one_row(float *out, const float *x) {
  __shared__ float part[16][16];
  part[threadIdx.y][threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0)
    for (int i = 0; i < 8; ++i) out[threadIdx.y] += part[threadIdx.y][i];
}
__global__ void nested(float *out, const float *x) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0)
    for (int i = 0; i < 256; ++i)
      for (int j = 0; j < i; ++j) out[i] += j;
}
__global__ void another_thread(float *out, const float *x, int last) {
  __shared__ float part[256];
  part[threadIdx.x] = x[threadIdx.x];
  if (blockIdx.x == 0)
    for (int i = 0; i < 256; ++i) out[threadIdx.x] += part[i];
}
__global__ void few_at_run_time(float *out, const float *x, int warps) {
  __shared__ float part[32];
  part[threadIdx.x / 32] = x[threadIdx.x];
  if (threadIdx.x == 0)
    for (int i = 0; i < warps; ++i) out[0] += part[i];
}
__global__ void always_the_same(float *out) {
  __shared__ float part[4];
  if (threadIdx.x == 0)
    for (int i = 0; i < 64; ++i) out[i] += part[0];
}
__global__ void without_shared_memory(float *out, const float *x) {
  if (threadIdx.x == 0)
    for (int i = 0; i < 256; ++i) out[0] += x[i];
}
__global__ void starts_elsewhere(float *out, const float *x) {
  __shared__ float part[64];
  part[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0) out[0] = part[63];
}

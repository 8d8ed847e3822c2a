// Exchanges through shared memory without a barrier between the stores and the loads of other threads.
#define N 256
__global__ void loaded_at_once(float *out, const float *x) {
  __shared__ float tile[N];
  tile[threadIdx.x] = x[threadIdx.x];
  float sum = 0;
  for (int k = 0; k < N; ++k) sum += tile[k];  // expect: missing-barriers
  out[threadIdx.x] = sum;
}
__global__ void neighbour(float *out, const float *x) {
  __shared__ float tile[N + 1];
  int t = threadIdx.x;
  tile[t] = x[t];
  out[t] = tile[t] - tile[t + 1];  // expect: missing-barriers
}
__global__ void tiles_without_a_second(float *out, const float *x, int n) {
  __shared__ float tile[N];
  float sum = 0;
  for (int first = 0; first < n; first += N) {
    tile[threadIdx.x] = x[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < N; ++k) sum += tile[k];  // expect: missing-barriers
  }
  out[threadIdx.x] = sum;
}
__global__ void product(float *c, const float *a, const float *b, int n) {
  __shared__ float left[16][16], right[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0;
  for (int m = 0; m < n; m += 16) {
    left[ty][tx] = a[ty * n + m + tx];
    right[ty][tx] = b[(m + ty) * n + tx];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += left[ty][k] * right[k][tx];  // expect: missing-barriers // expect: missing-barriers
  }
  c[ty * n + tx] = sum;
}
__global__ void tree_of_caller(float *x, int n) {
  int i = threadIdx.x, step = n / 2;
  float sum;
  while (step) {
    if (i < step) sum = x[i] + x[i + step];
    __syncthreads();
    if (i < step) x[i] = sum;  // expect: missing-barriers
    step /= 2;
  }
}
__global__ void behind_a_bound(float *out, const float *x, int n) {
  __shared__ float tile[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[threadIdx.x] = x[i];
  for (int k = 0; k < N; ++k) out[i] += tile[k];  // expect: missing-barriers
}
__global__ void with_a_barrier(float *out, const float *x) {
  __shared__ float tile[N];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < N; ++k) sum += tile[k];
  out[threadIdx.x] = sum;
}
__global__ void with_both(float *out, const float *x, int n) {
  __shared__ float tile[N];
  float sum = 0;
  for (int first = 0; first < n; first += N) {
    tile[threadIdx.x] = x[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < N; ++k) sum += tile[k];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
__global__ void barrier_first(float *out, const float *x, int n) {
  __shared__ float tile[N];
  float sum = 0;
  for (int first = 0; first < n; first += N) {
    __syncthreads();
    tile[threadIdx.x] = x[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < N; ++k) sum += tile[k];
  }
  out[threadIdx.x] = sum;
}
__global__ void two_buffers(float *out, const float *x, int n) {
  __shared__ float tile[2][N];
  float sum = 0;
  for (int m = 0; m < n; ++m) {
    tile[m & 1][threadIdx.x] = x[m * N + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < N; ++k) sum += tile[m & 1][k];
  }
  out[threadIdx.x] = sum;
}
__global__ void of_a_macro(float *out, const float *x) {
  __shared__ float tile[N];
  tile[threadIdx.x] = x[threadIdx.x];
  BLOCK_BARRIER();
  for (int k = 0; k < N; ++k) out[threadIdx.x] += tile[k];
}
__global__ void own_part(float *out, const float *x) {
  __shared__ float part[N * 8];
  for (int k = 0; k < 8; ++k) part[threadIdx.x * 8 + k] = x[k];
  float sum = 0;
  for (int j = 0; j < 8; ++j) sum += part[threadIdx.x * 8 + j];
  out[threadIdx.x] = sum;
}
__global__ void own_column(float *out, const float *x) {
  __shared__ float part[8][N];
  for (int k = 0; k < 8; ++k) part[k][threadIdx.x] = x[k];
  float sum = 0;
  for (int j = 0; j < 8; ++j) sum += part[j][threadIdx.x];
  out[threadIdx.x] = sum;
}
__global__ void two_elements(float *out, const float *x) {
  __shared__ float part[2 * N];
  part[threadIdx.x] = x[threadIdx.x];
  part[threadIdx.x + N] = x[threadIdx.x + N];
  out[threadIdx.x] = part[threadIdx.x] + part[threadIdx.x + N];
}
__global__ void of_the_first(float *out, const float *x) {
  __shared__ float part[N];
  part[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x == 0) out[0] = part[0];
}
__global__ void __launch_bounds__(32) of_a_warp(float *out, const float *x) {
  __shared__ float part[32];
  part[threadIdx.x] = x[threadIdx.x];
  for (int k = 0; k < 32; ++k) out[threadIdx.x] += part[k];
}
__global__ void parts_of_a_tree(float *out, float sum) {
  __shared__ float part[N];
  int tid = threadIdx.x;
  part[tid] = sum;
  __syncthreads();
  if (tid < 128) part[tid] = sum = sum + part[tid + 128];
  __syncthreads();
  if (tid < 64) part[tid] = sum = sum + part[tid + 64];
  __syncthreads();
  out[0] = part[0];
}
__global__ void of_two_ways(float *out, const float *x, int mode) {
  __shared__ float part[N];
  if (mode) {
    part[threadIdx.x] = x[threadIdx.x];
  } else {
    for (int k = 0; k < N; ++k) out[threadIdx.x] += part[k];
  }
}
__global__ void tree_with_both(float *x, int n) {
  float sum;
  for (int step = n / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) sum = x[threadIdx.x] + x[threadIdx.x + step];
    __syncthreads();
    if (threadIdx.x < step) x[threadIdx.x] = sum;
    __syncthreads();
  }
}
__global__ void result_of_each_round(int *out, const float *x, int rounds, int n) {
  __shared__ float best[N];
  __shared__ int where[N];
  for (int round = 0; round < rounds; ++round) {
    best[threadIdx.x] = x[threadIdx.x];
    where[threadIdx.x] = threadIdx.x;
    for (int step = 1; step < n; step *= 2) {
      __syncthreads();
      int k = 2 * step * threadIdx.x;
      if (k + step < N && best[k] < best[k + step]) where[k] = where[k + step];
    }
    __syncthreads();
    int last = where[0];  // expect: missing-barriers
    if (threadIdx.x == 0) out[round] = last;
  }
}
__global__ void two_trees(float *out, const float *x) {
  __shared__ float part[N];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  float most = part[0];  // expect: missing-barriers
  part[t] = expf(x[t] - most);
  __syncthreads();
  if (t == 0) out[0] = part[1];
}
__global__ void result_that_thread_0_takes(float *out, const float *x, int rounds) {
  __shared__ float part[N];
  int t = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    part[t] = x[round * N + t];
    __syncthreads();
    if (t == 0) out[round] = part[0];
  }
}
__global__ void result_before_a_barrier(float *out, const float *x) {
  __shared__ float part[N];
  int t = threadIdx.x;
  part[t] = x[t];
  __syncthreads();
  float most = part[0];
  __syncthreads();
  part[t] = expf(x[t] - most);
  __syncthreads();
  out[t] = part[N - 1 - t];
}

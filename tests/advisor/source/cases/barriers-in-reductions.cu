// A tree over shared memory that goes on with barriers of the block when one warp is left.
#define N 256
__global__ void halving(float *out, const float *x) {
  __shared__ float part[N];
  part[threadIdx.x] = x[threadIdx.x];
  for (int s = N / 2; s > 0; s >>= 1) {  // expect: barriers-in-reductions
    __syncthreads();
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
  }
  if (threadIdx.x == 0) out[0] = part[0];
}
__global__ void of_dynamic_memory(float *out) {
  extern __shared__ float memory[];
  float *best = memory + blockDim.x;
  int tid = threadIdx.x;
  for (unsigned s = blockDim.x / 2; s >= 1; s /= 2) {  // expect: barriers-in-reductions
    if (tid < s) best[tid] = fmaxf(best[tid], best[tid + s]);
    __syncthreads();
  }
  out[0] = best[0];
}
__global__ void with_a_condition(float *out, int *where) {
  __shared__ float value[N];
  __shared__ int index[N];
  int tid = threadIdx.x;
  for (int s = blockDim.x / 2; s; s = s / 2) {  // expect: barriers-in-reductions
    if (tid < s && value[tid + s] < value[tid]) {
      value[tid] = value[tid + s];
      index[tid] = index[tid + s];
    }
    __syncthreads();
  }
  where[0] = index[0];
}
__global__ void by_lengths(float *out) {
  __shared__ float top[N];
  int len = blockDim.x;
  while (len != 1) {  // expect: barriers-in-reductions
    __syncthreads();
    int skip = (len + 1) >> 1;
    if (threadIdx.x < (len >> 1)) top[threadIdx.x] += top[threadIdx.x + skip];
    len = (len + 1) >> 1;
  }
  out[0] = top[0];
}
template <int block_size> __global__ void written_out(float *out) {
  __shared__ float part[block_size];
  int tid = threadIdx.x;
  if (block_size >= 64) { if (tid < 32) part[tid] += part[tid + 32]; __syncthreads(); }
  if (block_size >= 32) { if (tid < 16) part[tid] += part[tid + 16]; __syncthreads(); }  // expect: barriers-in-reductions
  if (block_size >= 16) { if (tid < 8) part[tid] += part[tid + 8]; __syncthreads(); }
  if (block_size >= 8) { if (tid < 4) part[tid] += part[tid + 4]; __syncthreads(); }
  out[0] = part[0];
}
__global__ void step_first(float *out) {
  __shared__ float part[N];
  for (int s = N / 2; s > 0; s >>= 1) {  // expect: barriers-in-reductions
    if (threadIdx.x < s) part[threadIdx.x] += part[s + threadIdx.x];
    __syncthreads();
  }
  out[0] = part[0];
}
__global__ void ended_by_a_warp(float *out) {
  __shared__ float part[N];
  for (int s = N / 2; s > 32; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  float own = part[threadIdx.x & 31];
  for (int s = 16; s > 0; s >>= 1) own += __shfl_down_sync(0xffffffff, own, s);
  out[0] = own;
}
__global__ void without_barriers(float *out) {
  __shared__ float part[32];
  for (int s = 16; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncwarp();
  }
  out[0] = part[0];
}
__global__ void scan_up(float *x, int n) {
  __shared__ float part[N];
  int offset = 1;
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (threadIdx.x < d) part[offset * (2 * threadIdx.x + 2) - 1] += part[offset * (2 * threadIdx.x + 1) - 1];
    offset *= 2;
  }
}
__global__ void sort(int *x) {
  __shared__ int part[N];
  for (int j = N / 2; j > 0; j >>= 1) {
    int other = threadIdx.x ^ j;
    if (other > threadIdx.x && part[other] < part[threadIdx.x]) part[threadIdx.x] = part[other];
    __syncthreads();
  }
}
__global__ void scan_by_doubling(float *x) {
  __shared__ float part[N];
  for (int s = 1; s < N; s *= 2) {
    float add = threadIdx.x >= s ? part[threadIdx.x - s] : 0;
    __syncthreads();
    part[threadIdx.x] += add;
    __syncthreads();
  }
}
__global__ void in_global_memory(float *x) {
  for (int s = N / 2; s > 0; s >>= 1) {  // expect: barriers-in-reductions
    if (threadIdx.x < s) x[threadIdx.x] += x[threadIdx.x + s];
    __syncthreads();
  }
}
__global__ void of_registers(float *out, float own) {
  for (int s = 16; s > 0; s >>= 1) own += __shfl_xor_sync(0xffffffff, own, s);
  __syncthreads();
  out[threadIdx.x] = own;
}
__global__ void one_step(float *out) {
  __shared__ float part[N];
  if (threadIdx.x < 16) part[threadIdx.x] += part[threadIdx.x + 16];
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}
__global__ void phases(float *out) {
  __shared__ float part[N];
  if (threadIdx.x < 3) part[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < 17) part[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x < 5) part[threadIdx.x] += 2;
  __syncthreads();
  out[threadIdx.x] = part[0];
}
__global__ void search(const int *x, int *out, int key) {
  __shared__ int table[N];
  int at = 0;
  for (int s = N / 2; s > 0; s /= 2)
    if (table[at + s] <= key) at += s;
  __syncthreads();
  out[threadIdx.x] = at;
}
__global__ void pyramid(float *x, int n) {
  __shared__ float part[N];
  for (int width = n; width > 0; width /= 2) {
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[threadIdx.x ^ 1];
  }
}
__device__ void unknown_end(float *out, int last) {
  __shared__ float part[N];
  for (int s = N / 2; s > last; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
}
__device__ void of_whatever_memory(float *x) {
  for (int s = N / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) x[threadIdx.x] += x[threadIdx.x + s];
    __syncthreads();
  }
}
template <int block> __global__ void with_what_is_known(float *out, float sum) {
  __shared__ float part[block];
  int tid = threadIdx.x;
  if ((block >= 32) && (tid < 16)) part[tid] = sum = sum + part[tid + 16];  // expect: barriers-in-reductions
  __syncthreads();
  if ((block >= 16) && (tid < 8)) part[tid] = sum = sum + part[tid + 8];
  __syncthreads();
  if ((block >= 8) && (tid < 4)) part[tid] = sum = sum + part[tid + 4];
  __syncthreads();
  out[0] = sum;
}

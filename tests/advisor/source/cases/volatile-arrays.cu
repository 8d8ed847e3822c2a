// Arrays that kernels take as volatile.
__global__ void push(volatile float *x, const float *v, int n) {  // expect: volatile-arrays
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] + v[i];
}
__global__ void two_arrays(volatile float *x, volatile const float *v) {  // expect: volatile-arrays
  x[threadIdx.x] += v[threadIdx.x];
}
__global__ void behind_the_type(float volatile *x) {  // expect: volatile-arrays
  x[threadIdx.x] *= 2;
}
__global__ void with_restrict(volatile int *__restrict__ x, int n) {  // expect: volatile-arrays
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
}
__global__ void gathered(float *out, volatile const float *x, const int *at) {  // expect: volatile-arrays
  out[threadIdx.x] = x[at[threadIdx.x]];
}
__global__ void of_structures(float *out, volatile float2 *x) {  // expect: volatile-arrays
  out[threadIdx.x] = x[threadIdx.x].x;
}
__global__ void plain(float *x) {
  x[threadIdx.x] *= 2;
}
__global__ void volatile_pointer(float *volatile x) {
  x[threadIdx.x] *= 2;
}
__global__ void flag(float *x, volatile int *stop) {
  if (*stop == 0) x[threadIdx.x] *= 2;
}
__global__ void flag_of_the_block(float *x, volatile int *stop) {
  if (stop[blockIdx.x] == 0) x[threadIdx.x] *= 2;
}
__global__ void waits(float *x, volatile int *ready) {
  while (ready[threadIdx.x] == 0) {
  }
  x[threadIdx.x] *= 2;
}
__global__ void with_a_barrier(volatile float *x) {
  float next = x[threadIdx.x + 1];
  __syncthreads();
  x[threadIdx.x] = next;
}
__global__ void with_a_fence(volatile float *x, int *done) {
  x[threadIdx.x] = 1;
  __threadfence();
  done[0] = 1;
}
__global__ void with_atomics(volatile float *x, int *count) {
  x[atomicAdd(count, 1)] = 1;
}
__global__ void tail_of_a_warp(volatile float *x) {
  x[threadIdx.x] += x[threadIdx.x + 16];
  __syncwarp();
}
__global__ void volatile_number(float *x, volatile float y) {
  x[threadIdx.x] *= y;
}
__device__ void in_a_device_function(volatile float *x, int i) {
  x[i] += x[i + 16];
}
__global__ void shared_alone(float *x) {
  __shared__ float tile[32];
  volatile float *place = tile;
  place[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = place[threadIdx.x];
}
void on_the_host(volatile float *x, int i) {
  x[i] *= 2;
}

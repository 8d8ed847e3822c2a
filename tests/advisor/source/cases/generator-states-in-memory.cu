// Generators of cuRAND whose state stays in memory.
__global__ void in_a_loop(float *x, curandState *states, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) x[i] += curand_uniform(&states[i]);  // expect: generator-states-in-memory
}
__global__ void twice(float *x, curandState *states) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[2 * i] = curand_normal(&states[i]);  // expect: generator-states-in-memory
  x[2 * i + 1] = curand_normal(&states[i]);
}
__global__ void by_an_address(float *x, curandState *states) {
  int i = threadIdx.x;
  float a = curand_uniform(states + i), b = curand_uniform(states + i);  // expect: generator-states-in-memory
  x[i] = a * b;
}
__device__ int chosen(curandState *states, int i, int n) {
  int best = 0;
  for (int k = 0; k < n; ++k) best = max(best, (int)(curand_uniform(&states[i]) * n));  // expect: generator-states-in-memory
  return best;
}
__global__ void anew_each_time(float *x, unsigned seed) {
  curandState own;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &own);  // expect: generator-states-in-memory
  x[i] = curand_uniform(&own);
}
__global__ void while_it_is_too_small(float *x, curandState *states) {
  int i = threadIdx.x;
  float v = 0;
  while (v < 0.5f) v = curand_uniform(&states[i]);  // expect: generator-states-in-memory
  x[i] = v;
}
__global__ void in_registers(float *x, curandState *states, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState own = states[i];
  for (int k = 0; k < n; ++k) x[i] += curand_uniform(&own);
  states[i] = own;
}
__global__ void once(float *x, curandState *states) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = curand_uniform(&states[i]);
}
__global__ void set_up(curandState *states, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &states[i]);
}
__device__ float of_whoever_calls(curandState *state) {
  float a = curand_uniform(state);
  return a * curand_uniform(state);
}
__global__ void seeded(float *x, unsigned seed) {
  curandState own;
  int i = threadIdx.x;
  curand_init(seed + i, 0, 0, &own);
  x[i] = curand_uniform(&own);
}
__global__ void counter_based(float *x, unsigned seed) {
  curandStatePhilox4_32_10_t own;
  int i = threadIdx.x;
  curand_init(seed, i, 0, &own);
  x[i] = curand_uniform(&own);
}
__global__ void none_drawn(float *x) { x[threadIdx.x] *= 2; }
__global__ void of_a_table(float *x, const float *drawn, int n) {
  for (int k = 0; k < n; ++k) x[threadIdx.x] += drawn[k];
}
__global__ void local_states(float *x) {
  curandState own[2];
  for (int k = 0; k < 4; ++k) x[k] = curand_uniform(&own[0]);
}
__global__ void shared_states(float *x) {
  __shared__ curandState own[32];
  for (int k = 0; k < 4; ++k) x[k] = curand_uniform(&own[threadIdx.x]);
}
void on_the_host(curandGenerator_t g, float *x, int n) { curandGenerateUniform(g, x, n); }
__device__ float drawn_by_hand(unsigned *state, int n) {
  for (int k = 0; k < n; ++k) *state = *state * 1664525u + 1013904223u;
  return *state * 1e-9f;
}

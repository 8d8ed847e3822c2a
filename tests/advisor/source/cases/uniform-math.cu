// Functions of the math library that each thread computes of the kernel's own arguments.
#include <cmath>
struct Camera { float angle, width; };
__constant__ float decay;
__constant__ float table[8];
__device__ void step_of_header(float &x);
__global__ void powers(float *m, float rate, int t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) m[i] *= rate / (1 - powf(0.9f, t));  // expect: uniform-math
}
__global__ void by_a_local(float *m, double rate) {
  double scale = exp(-rate * 0.5);  // expect: uniform-math
  m[threadIdx.x] *= scale;
}
__global__ void by_locals_of_locals(float *m, float rate, float time) {
  float product = rate * time;
  float half = product / 2;
  m[threadIdx.x] *= expf(half);  // expect: uniform-math
}
__global__ void of_a_structure(float *m, Camera camera) {
  m[threadIdx.x] = tanf(camera.angle) * threadIdx.x;  // expect: uniform-math
}
__global__ void two_roots(float *m, float q, float r) {
  m[threadIdx.x] = sqrtf(q) * m[threadIdx.x] + sqrtf(2 * r);  // expect: uniform-math
}
__global__ void of_a_constant(float *m) {
  m[threadIdx.x] *= expf(-decay);  // expect: uniform-math
}
__global__ void set_later(float *m, float h) {
  float part;
  part = h / 12;
  for (int k = 0; k < 10; ++k) m[k * 32 + threadIdx.x] *= logf(part);  // expect: uniform-math
}
__global__ void root_of_a_double(double *m, double h) {
  m[threadIdx.x] *= sqrt(h);  // expect: uniform-math
}
__global__ void of_an_element(float *m, float rate) {
  m[threadIdx.x] = expf(rate * m[threadIdx.x]);
}
__global__ void of_the_thread(float *m, float rate) {
  m[threadIdx.x] = powf(rate, threadIdx.x);
}
__global__ void of_the_block(float *m, float rate) {
  m[threadIdx.x] = powf(rate, blockIdx.x);
}
__global__ void of_numbers(float *m) {
  m[threadIdx.x] *= sqrt(2.0);
}
__global__ void one_root_of_a_float(float *m, float q) {
  m[threadIdx.x] *= sqrtf(q);
}
__global__ void of_a_table(float *m, int k) {
  m[threadIdx.x] *= expf(table[k]);
}
__global__ void of_a_pointer(float *m, const float *rate) {
  m[threadIdx.x] *= expf(*rate);
}
__global__ void of_a_structure_in_memory(float *m, const Camera *camera) {
  m[threadIdx.x] *= tanf(camera->angle);
}
__global__ void of_a_changing_argument(float *m, float x, int n) {
  for (int k = 0; k < n; ++k) x *= 2;
  m[threadIdx.x] = expf(x);
}
__global__ void of_what_a_function_changes(float *m, float x) {
  float y = x;
  for (int k = 0; k < 4; ++k) {
    step_of_header(y);
    m[threadIdx.x] += logf(y);
  }
}
__global__ void of_a_changed_local(float *m, float x) {
  float y = x;
  if (threadIdx.x < 7) y = 2 * x;
  m[threadIdx.x] = expf(y);
}
__device__ float of_a_device_function(float x) {
  return expf(x);
}
__global__ void init_states(float *m, float x) {
  m[threadIdx.x] = expf(x);
}
float of_the_host(float x) {
  return expf(x);
}

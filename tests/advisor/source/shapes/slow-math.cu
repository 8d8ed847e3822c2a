// Accurate functions in loops of kernels.
#include <cuda_fp16.h>
template <int K> __global__ void softmax(float *out, const float *in, int n) {
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += expf(in[k]);  // expect: slow-math
  out[threadIdx.x] = sum;
}
__global__ void attention_row(float *out, const float *q, const float *k, int n, int d) {
  float best = -1e30f;
  for (int j = 0; j < n; ++j) {
    float dot = 0.0f;
    for (int c = 0; c < d; ++c) dot += q[c] * k[j * d + c];
    best = fmaxf(best, dot);
    out[threadIdx.x] += expf(dot - best);  // expect: slow-math
  }
}
__global__ void with_intrinsic(float *out, const float *in, int n) {
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += __expf(in[k]);
  out[threadIdx.x] = sum;
}
__global__ void monte_carlo(float *out, int paths, float sigma) {
  float value = 0.0f;
  for (int p = 0; p < paths; ++p) {
    float u = (p + 0.5f) / paths;
    value += sqrtf(-2.0f * logf(u)) * sigma;  // expect: slow-math
  }
  out[threadIdx.x] = value;
}
__global__ void grid_loop(float *out, const float *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = tanf(in[i]);
}
__global__ void half_functions(__half *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = hexp(out[i]);
}
__global__ void doubles(double *out, int n) {
  for (int i = 0; i < n; ++i) out[i] += log(out[i]) + sin(out[i]);
}
__global__ void before_the_loop(float *out, float x, int n) {
  const float scale = expf(x);
  for (int i = 0; i < n; ++i) out[i] *= scale;
}
__global__ void roots_and_absolutes(float *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = fabsf(sqrtf(out[i])) + rsqrtf(out[i]);
}
__global__ void ray_march(float *out, float x, float y) {
  float t = 0.0f;
  while (t < 10.0f) {
    t += 0.1f + 0.5f * sinf(t * x);  // expect: slow-math
  }
  out[threadIdx.x] = t + y;
}
__global__ void unrolled(float *out, float x) {
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = log2f(x + i);  // expect: slow-math
}
namespace approx { __device__ float expf(float x); }
__device__ float kernel_helper(float x, int n) {
  for (int i = 0; i < n; ++i) x = expf(-x);
  return x;
}
__global__ void general_power(float *out, int n, float y) {
  for (int i = 0; i < n; ++i) out[i] = powf(out[i], y);  // expect: slow-math
}

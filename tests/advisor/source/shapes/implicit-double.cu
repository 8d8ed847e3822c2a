// Literals in single precision code: templates, macros, half, fast paths, tables.
#include <cuda_fp16.h>
#define SCALE 0.1f
#define DECAY 0.9
#define SQUARE(x) ((x) * (x))
template <typename T> __device__ T lerp(T a, T b, T t) { return a + t * (b - a); }
template <int N> __device__ float mean(const float *x) {
  float sum = 0.0;
  for (int i = 0; i < N; ++i) sum += x[i];
  return sum / N;
}
__global__ void by_macro_with_suffix(float *out, float x) { out[0] = x * SCALE; }
__global__ void literal_in_a_macro_call(float *out, float x) { out[0] = SQUARE(x * 0.3f); }
__global__ void constant_double_on_purpose(float *out, float x) {
  const double pi = 3.14159265358979;
  out[0] = (float)(pi * x);
}
__global__ void double_accumulator(float *out, const float *in, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += in[i] * 0.001;
  out[0] = (float)sum;
}
__global__ void in_a_lambda(float *out, float x) {
  auto scaled = [=](float v) { return v * 2.0f; };
  out[0] = scaled(x);
}
__global__ void half_by_float(__half *out, const __half *in, int i) {
  out[i] = __float2half(__half2float(in[i]) * 0.7);  // expect: implicit-double
}
__global__ void half_by_float_suffix(__half *out, const __half *in, int i) {
  out[i] = __float2half(__half2float(in[i]) * 0.7f);
}
__device__ float gelu(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715 * x * x * x)));  // expect: implicit-double
}
__device__ float gelu_with_suffixes(float x) {
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}
__device__ float smooth(float edge, float x) {
  if (x < edge) return 0.0;
  float t = x - edge;
  return t * t * (3.0 - 2.0 * t);  // expect: implicit-double
}
struct Particle { float x, y, vx, vy; };
__global__ void step(Particle *p, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    p[i].vy -= 9.81 * dt;  // expect: implicit-double
    p[i].x += p[i].vx * dt;
  }
}
__global__ void stencil(float *__restrict__ out, const float *__restrict__ in, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 0.2 * (in[i] + in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);  // expect: implicit-double
}
__global__ void stencil_in_float(float *__restrict__ out, const float *__restrict__ in, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}
__global__ void clamped(float *out, float x) { out[0] = fminf(fmaxf(x, 0.0f), 255.0f); }
__global__ void table(float *out, int i) {
  const float weights[4] = {0.1, 0.2, 0.3, 0.4};
  out[i] = weights[i & 3];
}
__global__ void vector_value(float4 *out) { out[0] = make_float4(0.1, 0.2, 0.3, 1.0); }
__global__ void integer_scale(int *out, int x) { out[0] = (int)(x * 1.5); }
template <typename T> __global__ void cast_literal(T *out, T x) { out[0] = x * static_cast<T>(0.25); }
#ifdef USE_FLOAT
__global__ void conditional_code(float *out, float x) {
  out[0] = x / 3.3;  // expect: implicit-double
}
#endif
__global__ void threshold(int *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0.05) out[i] = 1;  // expect: implicit-double
}
__global__ void exponent_form(float *out, float x) {
  out[0] = x + 1e-5;  // expect: implicit-double
}
__host__ __device__ inline float on_both_sides(float x) {
  return x * 0.017453292519943295;  // expect: implicit-double
}
__global__ void components(float4 *out, float x) {
  out[0] = make_float4(x * 0.1, x, x, 1.0f);  // expect: implicit-double
}

// 16-bit arithmetic of layers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void residual(__half *out, const __half *x, const __half *skip, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hadd(x[i], skip[i]);  // expect: scalar-half-arithmetic
}
__global__ void residual_by_two(__half2 *out, const __half2 *x, const __half2 *skip, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hadd2(x[i], skip[i]);
}
__global__ void bias_of_a_row(__half *out, const __half *x, const __half *bias, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hadd(x[i], bias[i % width]);
}
__global__ void summed_in_float(__half *out, const __half *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += __half2float(x[i * n + k]);
  out[i] = __float2half(sum);
}
__global__ void gate(__nv_bfloat16 *out, const __nv_bfloat16 *x, const __nv_bfloat16 *g, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = __hmul(x[i], g[i]);  // expect: scalar-half-arithmetic
}
__global__ void scaled_sum(half *__restrict__ y, const half *__restrict__ x, half a, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) y[i] = __hfma(a, x[i], y[i]);  // expect: scalar-half-arithmetic
}
__global__ void nested_product(__half *out, const __half *a, const __half *b, const __half *c, int n) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = a[i] * b[i] + c[i];  // expect: scalar-half-arithmetic
  }
}
using element = __nv_bfloat16;
__global__ void through_an_alias(element *out, const element *a, const element *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hsub(a[i], b[i]);  // expect: scalar-half-arithmetic
}

// Elementwise arithmetic on 16-bit floats, one element per thread.
__global__ void product(__half *out, const __half *a, const __half *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hmul(a[i], b[i]);  // expect: scalar-half-arithmetic
}
__global__ void by_operator(half *out, const half *a, const half *b, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  out[i] = a[i] + b[i];  // expect: scalar-half-arithmetic
}
__global__ void packed(half2 *out, const half2 *a, const half2 *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hadd2(a[i], b[i]);
}
__global__ void brain(__nv_bfloat16 *out, const __nv_bfloat16 *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] * a[i];  // expect: scalar-half-arithmetic
}
__global__ void floats(float *out, const float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] * a[i];
}
__global__ void copied(__half *out, const __half *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i];
}
__global__ void gathered(__half *out, const __half *a, const int *index, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[index[i]] * a[i];
}
__global__ void strided(__half *out, const __half *a, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
  if (i < n) out[i] = a[i] * a[i];
}
__global__ void in_float(__half *out, const __half *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __float2half(__half2float(a[i]) * 2.0f);
}
template <typename T> __global__ void of_template(T *out, const T *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] * a[i];
}
__device__ void helper(__half *out, const __half *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] * a[i];
}
__global__ void per_row(__half *out, const __half *a, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i * width] = a[i * width] + a[i * width];
}
__global__ void constant(__half *out, __half x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x * x;
}
__global__ void fused(__half *out, const __half *a, const __half *b, const __half *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hfma(a[i], b[i], c[i]);  // expect: scalar-half-arithmetic
}
__global__ void difference(nv_bfloat16 *__restrict__ out, const nv_bfloat16 *__restrict__ a, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) {
    out[i] = out[i] - a[i];  // expect: scalar-half-arithmetic
  }
}
__global__ void quotient(half *out, const half *a, const half *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hdiv(a[i], b[i]);  // expect: scalar-half-arithmetic
}

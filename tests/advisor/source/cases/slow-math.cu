// Accurate functions count in the loops of kernels, once per function.
__global__ void in_loop(float *out, const float *in, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += expf(in[i]);  // expect: slow-math
    sum -= expf(-in[i]);
  }
  out[threadIdx.x] = sum;
}
__global__ void block_stride(float *out, const float *in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = expf(in[i]);
}
__global__ void stride_by_name(float *out, const float *in, int n) {
  const int stride = blockDim.x * gridDim.x;
  for (int i = threadIdx.x; i < n; i += stride) out[i] = expf(in[i]);
}
__global__ void inside_an_element(float *out, const float *in, int n, int terms) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < terms; ++k) sum += logf(in[i] + k);  // expect: slow-math
    out[i] = sum;
  }
}
__global__ void special_power(float *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = powf(2.0f, out[i]);
}
__global__ void two_functions(float *out, int n) {
  for (int i = 0; i < n; ++i) {
    out[i] = sinf(out[i]);  // expect: slow-math
    out[i] = logf(out[i]);  // expect: slow-math
  }
}
__global__ void once(float *out, int i) { out[i] = expf(out[i]); }
__global__ void fast(float *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = __expf(out[i]);
}
__global__ void doubles(double *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = exp(out[i]);
}
__device__ float helper(float x) {
  float s = 0;
  for (int i = 0; i < 9; ++i) s += expf(x * i);
  return s;
}
__global__ void roots(float *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = sqrtf(out[i]);
}
template <typename T> __global__ void of_template(T *out, int n) {
  while (n-- > 0) {
    out[n] = powf(out[n], 2.3f);  // expect: slow-math
  }
}
struct Math { __device__ float expf(float x) const; };
__global__ void methods(float *out, Math m, int n) {
  for (int i = 0; i < n; ++i) out[i] = m.expf(out[i]);
}
void on_the_host(float *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = expf(out[i]);
}
__global__ void of_expressions_of_vectors(float4 *out, float4 a, float scale, int n) {
  for (int i = 0; i < n; ++i) out[i] = expf(-scale * (a - out[i]));
}
__global__ void grid_stride(float *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (i < n - 1) out[i] = cosf(out[i]);
  }
}
__global__ void after_the_loop(float *out, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += out[i];
  out[0] = logf(sum);
}
__global__ void both_outputs(float *s, float *c, int n) {
  for (int i = 0; i < n; ++i) {
    sincosf(s[i], &s[i], &c[i]);  // expect: slow-math
  }
}
__global__ void by_lanes(float *out, const float *in, int n) {
  for (int i = threadIdx.x % 32; i < n; i += 32) out[i] = expf(in[i]);
}
__global__ void by_fours(float *out, const float *in, int n) {
  float sum = 0;
  for (int i = 0; i < n; i += 4) sum += logf(in[i]);  // expect: slow-math
  out[0] = sum;
}
__global__ void of_vectors(float4 *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = expf(out[i]);
}
__global__ void overloaded_for_floats(float *x, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += exp(x[k]);  // expect: slow-math
  x[0] = sum;
}
__global__ void overloaded_for_doubles(double *x, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += exp(x[k]);
  x[0] = sum;
}

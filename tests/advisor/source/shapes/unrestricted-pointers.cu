// Pointers of kernels as libraries declare them.
#define RESTRICT __restrict__
__global__ void axpy(float *y, const float *x, float a, int n) {  // expect: unrestricted-pointers
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}
__global__ void axpy_restricted(float *RESTRICT y, const float *RESTRICT x, float a, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = a * x[i] + y[i];
}
// The loop that loads most stores nothing.
__global__ void sparse_rows(float *y, const int *rows, const int *cols, const float *values, const float *x, int n) {
  for (int r = threadIdx.x; r < n; r += blockDim.x) {
    float sum = 0;
    for (int k = rows[r]; k < rows[r + 1]; ++k) sum += values[k] * x[cols[k]];
    y[r] = sum;
  }
}
__global__ void once_each(float *out, const float *a, const float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] + b[i];
}
__global__ void through_ldg(float *out, const float *a, int n) {
  for (int i = 0; i < n; ++i) out[i] = __ldg(a + i);
}
__global__ void sum_kept_in_a_register(float *out, const float *a, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i];
  out[threadIdx.x] = sum;
}
__global__ void swapped_buffers(float *a, float *b, int n) {
  for (int i = 0; i < n; ++i) {
    float t = a[i];
    a[i] = b[i];
    b[i] = t;
  }
}
__global__ void by_offset_pointer(float *out, const float *in, int pitch, int n) {
  const float *row = in + blockIdx.x * pitch;
  for (int i = 0; i < n; ++i) out[i] = row[i];
}
__global__ void histogram(int *bins, const unsigned char *data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[data[i]], 1);
}
__global__ void two_steps(int *flags, const int *keys, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  flags[i] = keys[i] > 0;
  if (i + 1 < n) flags[i] += keys[i + 1] > 0;
}
template <typename F> __global__ void with_a_functor(float *out, const float *in, F f, int n) {
  f(out, in, n);
}
__global__ void volatile_flag(volatile int *flag, const int *in, int n) {
  while (*flag == 0) {
  }
  for (int i = 0; i < n; ++i) flag[i] = 0;
}
__global__ void scan_rows(int *out, const int *in, int width) {  // expect: unrestricted-pointers
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < width; ++k) {
    sum += in[row * width + k];
    out[row * width + k] = sum;
  }
}
__global__ void leapfrog(double *x, double *v, const double *f, double dt) {
  int i = threadIdx.x;
  x[i] = x[i] + v[i] * dt;
  v[i] = v[i] + f[i] * dt;
}
__global__ void masked(float *y, const float *x, const int *mask, int n) {  // expect: unrestricted-pointers
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) {
    if (mask[i]) y[i] = x[i];
    i += blockDim.x * gridDim.x;
  }
}

// Loads of what a loop does not change, beside stores that may overlap.
__global__ void scaled(float *out, const float *in, const float *factor, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = in[i] * factor[blockIdx.x];  // expect: repeated-loads
}
__global__ void two_of_them(float *out, const float *lo, const float *hi, int c, int n) {
  for (int i = 0; i < n; ++i) {
    out[i * 32] = i * lo[c] + hi[c];  // expect: repeated-loads
  }
}
__global__ void by_an_atomic(float *sums, const int *at, const float *grad, int n) {
  for (int k = 0; k < n; ++k) atomicAdd(sums + at[k], grad[0]);  // expect: repeated-loads
}
template <typename T> __global__ void of_a_type(T *grads, const T *alpha, int col, int n) {
  int i = threadIdx.x;
  while (i < n) {
    grads[i] = grads[i] - alpha[col];  // expect: repeated-loads
    i += blockDim.x;
  }
}
__device__ void on_the_device(float *x, const float *mean, int i, int n) {
  for (int k = 0; k < n; ++k) x[k] -= mean[i];  // expect: repeated-loads
}
__global__ void bound_of_the_loop(int *out, const int *rows) {
  for (int i = rows[threadIdx.x]; i < rows[threadIdx.x + 1]; ++i) out[i] = i;  // expect: repeated-loads
}
__global__ void restricted(float *__restrict__ out, const float *__restrict__ factor, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] *= factor[blockIdx.x];
}
__global__ void no_store(float *out, const float *x, const float *own, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] - own[threadIdx.x];
  out[threadIdx.x] = sum;
}
__global__ void of_another_type(float *out, const int *count, int n) {
  for (int i = 0; i < n; ++i) out[i] = count[0];
}
__global__ void of_the_same_array(float *x, int n) {
  for (int i = 1; i < n; ++i) x[i] += x[0];
}
__global__ void that_moves(float *out, const float *in, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i];
}
__global__ void in_a_register(float *out, const float *factor, int n) {
  float f = factor[0];
  for (int i = 0; i < n; ++i) out[i] = f;
}
__global__ void to_shared_memory(const float *factor, int n) {
  __shared__ float s[256];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = factor[0];
}
__global__ void own_rows(float *out, const float *x, int n) {
  for (int i = 0; i < n; ++i) {
    const float *row = x + i * n;
    out[i] = row[0];
  }
}
__global__ void beside_a_loop(float *out, const float *x, const float *f, int n) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < n; ++k) out[k] += x[k];
    out[i] *= f[0];
  }
}
__global__ void once(float *out, const float *x, const float *f, int n) {
  for (int i = 0; i < n; ++i) {
    if (x[i] > f[0]) {
      out[0] = x[i];
      break;
    }
  }
}
__global__ void where_it_begins(int *out, const int *rows, int last) {
  for (int i = rows[threadIdx.x]; i < last; ++i) out[i] = i;
}
__global__ void through_another(float *out, const float *x, const int *at, int n) {
  for (int i = 0; i < n; ++i) out[i] = x[at[i]];
}

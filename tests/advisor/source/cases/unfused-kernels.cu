// An elementwise kernel right behind another one, in the same shape, on an array that the first stores.
__global__ void scale(float *x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void cut(float *x, float most, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = fminf(x[i], most);
}
__global__ void add(float *z, const float *x, const float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
__global__ void smooth(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i] + x[i + 1];
}
__global__ void sum(float *out, const float *x, int n) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = x[i];
  __syncthreads();
  out[i] = part[0];
}
__global__ void gather(float *y, const float *x, const int *from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[from[i]];
}
__global__ void walk(float *y, const float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; ++i) y[i] = x[i];
}
void in_place(float *x, int n) {
  scale<<<n / 256, 256>>>(x, 2, n);
  cut<<<n / 256, 256>>>(x, 1, n);  // expect: unfused-kernels
}
void handed_on(float *x, float *y, float *z, int n) {
  dim3 grid(n / 256), block(256);
  add<<<grid, block>>>(z, x, y, n);
  scale<<<grid, block>>>(z, 2, n);  // expect: unfused-kernels
}
void in_a_loop(float *x, int n) {
  for (int i = 0; i < 100; ++i) {
    scale<<<n / 256, 256>>>(x, 2, n);
    CHECK(cudaGetLastError());
    cut<<<n / 256, 256>>>(x, 1, n);  // expect: unfused-kernels
  }
}
void in_a_stream(float *x, int n, cudaStream_t s) {
  scale<<<n / 256, 256, 0, s>>>(x, 2, n);
  cut<<<n / 256, 256, 0, s>>>(x, 1, n);  // expect: unfused-kernels
}
void under_a_condition(float *x, int n, bool cuts) {
  scale<<<n / 256, 256>>>(x, 2, n);
  if (cuts) cut<<<n / 256, 256>>>(x, 1, n);  // expect: unfused-kernels
}
void three(float *x, float *y, int n) {
  scale<<<n / 256, 256>>>(x, 2, n);
  cut<<<n / 256, 256>>>(x, 1, n);  // expect: unfused-kernels
  add<<<n / 256, 256>>>(y, x, x, n);  // expect: unfused-kernels
}
void of_other_arrays(float *x, float *y, int n) {
  scale<<<n / 256, 256>>>(x, 2, n);
  cut<<<n / 256, 256>>>(y, 1, n);
}
void of_neighbours(float *x, float *y, int n) {
  scale<<<n / 256, 256>>>(x, 2, n);
  smooth<<<n / 256, 256>>>(y, x, n);
}
void of_blocks(float *x, float *y, int n) {
  scale<<<n / 256, 256>>>(x, 2, n);
  sum<<<n / 256, 256>>>(y, x, n);
}
void of_a_permutation(float *x, float *y, int *from, int n) {
  scale<<<n / 256, 256>>>(x, 2, n);
  gather<<<n / 256, 256>>>(y, x, from, n);
}
void in_another_shape(float *x, int n, int m) {
  scale<<<n / 256, 256>>>(x, 2, n);
  cut<<<m / 256, 256>>>(x, 1, m);
}
void in_other_streams(float *x, int n, cudaStream_t s, cudaStream_t t) {
  scale<<<n / 256, 256, 0, s>>>(x, 2, n);
  cut<<<n / 256, 256, 0, t>>>(x, 1, n);
}
void with_a_transform(float *x, int n, cufftHandle plan) {
  scale<<<n / 256, 256>>>(x, 2, n);
  cufftExecC2C(plan, x, x, CUFFT_FORWARD);
  cut<<<n / 256, 256>>>(x, 1, n);
}
void read_by_both(float *x, float *y, float *z, int n) {
  add<<<n / 256, 256>>>(y, x, x, n);
  add<<<n / 256, 256>>>(z, x, x, n);
}
void of_unknown_kernels(float *x, int n) {
  elsewhere<<<n / 256, 256>>>(x, n);
  cut<<<n / 256, 256>>>(x, 1, n);
}
void either(float *x, int n, bool scales) {
  if (scales) {
    scale<<<n / 256, 256>>>(x, 2, n);
  } else {
    cut<<<n / 256, 256>>>(x, 1, n);
  }
}
void behind_a_loop(float *x, int n) {
  for (int i = 0; i < 100; ++i) scale<<<n / 256, 256>>>(x, 2, n);
  cut<<<n / 256, 256>>>(x, 1, n);
}
void of_loops(float *x, float *y, int n) {
  scale<<<n / 256, 256>>>(x, 2, n);
  walk<<<n / 256, 256>>>(y, x, n);
}
void in_one_branch(float *x, float *y, int n, bool scales) {
  if (!scales) {
    walk<<<n / 256, 256>>>(y, x, n);
  } else {
    scale<<<n / 256, 256>>>(x, 2, n);
    cut<<<n / 256, 256>>>(x, 1, n);  // expect: unfused-kernels
  }
}
//---
// Kernels whose threads go on by the whole grid.
__global__ void divide(float *v, float by, size_t n) {
  unsigned long long i = (blockIdx.x * blockDim.x) + threadIdx.x;
  for (; i < n; i += gridDim.x * blockDim.x) v[i] /= by;
}
__global__ void times(float *v, float by, size_t n) {
  for (int i = threadIdx.x + blockDim.x * blockIdx.x; i < n; i += blockDim.x * gridDim.x) v[i] *= by;
}
__global__ void by_rows(float *v, float by, size_t n) {
  for (int i = threadIdx.x + blockDim.x * blockIdx.x; i < n; i += 1) v[i] *= by;
}
void strided(float **v, int offset, float sum, float alpha, size_t n) {
  divide<<<60, 1024>>>(v[0] + offset, sqrt(sum), n);
  times<<<60, 1024>>>(v[0] + offset, alpha, n);  // expect: unfused-kernels
}
void of_two_parts(float **v, int offset, float alpha, size_t n) {
  divide<<<60, 1024>>>(v[0] + offset, 2, n);
  times<<<60, 1024>>>(v[1] + offset, alpha, n);
}
void of_two_loops(float *v, float alpha, size_t n) {
  divide<<<60, 1024>>>(v, 2, n);
  by_rows<<<60, 1024>>>(v, alpha, n);
}

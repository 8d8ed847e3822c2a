// Kernels launched for one item after the other.
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
__global__ void move(float *y, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void add_up(float *sum, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, x[i]);
}
__global__ void of_one(float *x, int item, int n) { x[item * n + threadIdx.x] *= 2; }
void in_place(float *x, int items, int n) {
  for (int k = 0; k < items; ++k) scale<<<n / 256 + 1, 256>>>(x + k * n, n);  // expect: unbatched-launches
}
void by_address(float *x, int items, int n) {
  for (int k = 0; k < items; k++) {
    scale<<<n / 256 + 1, 256>>>(&x[k * n], n);  // expect: unbatched-launches
  }
}
void from_another_array(float *y, const float *x, int items, int n) {
  for (int k = 0; k < items; ++k) {
    move<<<n / 256 + 1, 256>>>(y + k * n, x + k * n, n);  // expect: unbatched-launches
    CHECK(cudaGetLastError());
  }
}
void by_a_name(float *y, const float *x, int items, int n) {
  for (int k = 0; k < items; ++k) {
    float *part = y + k * n;
    dim3 grid(n / 256 + 1);
    move<<<grid, 256>>>(part, x, n);  // expect: unbatched-launches
  }
}
void in_one_stream(float *x, int items, int n, cudaStream_t s) {
  for (int k = 0; k < items; ++k) scale<<<n / 256 + 1, 256, 0, s>>>(x + k * n, n);  // expect: unbatched-launches
}
void of_the_inner_loop(float *x, int steps, int items, int n) {
  for (int t = 0; t < steps; ++t)
    for (int k = 0; k < items; ++k) scale<<<n / 256 + 1, 256>>>(x + k * n, n);  // expect: unbatched-launches
}
void in_steps(float *x, int steps, int n) {
  for (int t = 0; t < steps; ++t) scale<<<n / 256 + 1, 256>>>(x, n);
}
void from_the_last_part(float *x, int items, int n) {
  for (int k = 1; k < items; ++k) move<<<n / 256 + 1, 256>>>(x + k * n, x + (k - 1) * n, n);
}
void into_one_sum(float *sum, const float *x, int items, int n) {
  for (int k = 0; k < items; ++k) add_up<<<n / 256 + 1, 256>>>(sum, x + k * n, n);
}
void in_many_streams(float *x, int items, int n, cudaStream_t *s) {
  for (int k = 0; k < items; ++k) scale<<<n / 256 + 1, 256, 0, s[k]>>>(x + k * n, n);
}
void with_copies(float *x, float *h, int items, int n) {
  for (int k = 0; k < items; ++k) {
    cudaMemcpy(x + k * n, h + k * n, n, cudaMemcpyHostToDevice);
    scale<<<n / 256 + 1, 256>>>(x + k * n, n);
  }
}
void on_devices(float **x, int devices, int n) {
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    scale<<<n / 256 + 1, 256>>>(x[d], n);
  }
}
void of_pointers(float **x, int items, int n) {
  for (int k = 0; k < items; ++k) scale<<<n / 256 + 1, 256>>>(x[k], n);
}
void of_few(float *x, int n) {
  for (int k = 0; k < 4; ++k) scale<<<n / 256 + 1, 256>>>(x + k * n, n);
}
void by_a_number(float *x, int items, int n) {
  for (int k = 0; k < items; ++k) of_one<<<1, 256>>>(x, k, n);
}
void of_a_kernel_elsewhere(float *x, int items, int n) {
  for (int k = 0; k < items; ++k) elsewhere<<<1, 256>>>(x + k * n, n);
}
void two_kernels(float *y, float *x, int items, int n) {
  for (int k = 0; k < items; ++k) {
    scale<<<n / 256 + 1, 256>>>(x + k * n, n);
    move<<<n / 256 + 1, 256>>>(y, x + k * n, n);
  }
}
void halving(float *x, int n) {
  for (int k = n; k > 0; k /= 2) scale<<<k / 256 + 1, 256>>>(x + k, k);
}

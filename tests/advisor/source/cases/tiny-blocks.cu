// Launches of many blocks of a warp or less.
constexpr int HALF = 16;
__global__ void f(float *x) { x[threadIdx.x] = 1; }
__global__ void g(float *x) { x[threadIdx.x] = 2; }
void one_warp(float *x, int n) {
  f<<<(n + 31) / 32, 32>>>(x);  // expect: tiny-blocks
  f<<<(n + 31) / 32, 32>>>(x + n);
}
void two_kernels(float *x, int n) {
  f<<<n, 32>>>(x);  // expect: tiny-blocks
  g<<<n, 32>>>(x);  // expect: tiny-blocks
}
void half(float *x, int n) {
  f<<<(n + HALF - 1) / HALF, HALF>>>(x);  // expect: tiny-blocks
}
void square(float *x, int n) {
  dim3 block(4, 4);
  f<<<n / 16, block>>>(x);  // expect: tiny-blocks
}
void by_a_variable(float *x, int n) {
  const int threads = 8;
  f<<<n, threads>>>(x);  // expect: tiny-blocks
}
void on_a_stream(float *x, int n, cudaStream_t s) {
  f<<<n, 32, 0, s>>>(x);  // expect: tiny-blocks
}
void large(float *x, int n) { f<<<(n + 255) / 256, 256>>>(x); }
void two_warps(float *x, int n) { f<<<n, 64>>>(x); }
void few_blocks(float *x) { f<<<4, 32>>>(x); }
void one_block(float *x) { f<<<1, 32>>>(x); }
void one_thread(float *x) { f<<<1, 1>>>(x); }
void thread_per_block(float *x, int n) { f<<<n, 1>>>(x); }
void of_data(float *x, int n, int m) { f<<<n, m>>>(x); }
void square_of_warps(float *x, int n) { f<<<n, dim3(32, 8)>>>(x); }
void grid_in_a_variable(float *x) {
  dim3 grid(2, 2);
  f<<<grid, 32>>>(x);
}
void unknown_macro(float *x, int n) { f<<<n, WIDTH>>>(x); }
void rounded(float *x, int n) { f<<<n, (n + 31) / 32 * 32>>>(x); }
void changed(float *x, int n) {
  int threads = 16;
  threads *= n;
  f<<<n, threads>>>(x);
}
void by_a_minimum(int batch, int channels) {
  dim3 block(min(batch * channels, 32));
  dim3 grid(batch * channels / block.x);
  kernel<<<grid, block>>>(data, n);  // expect: tiny-blocks
}
void by_a_larger_minimum(int batch) {
  kernel<<<batch, min(batch, 256)>>>(data, n);
}
template <typename T>
struct Functor {
  static constexpr int kThreads = 32;
  static const int kMore = 256;
  void operator()(int n) {
    TF_CHECK_OK(GpuLaunchKernel(bag_kernel<T, kThreads>, dim3(n, n), kThreads, 0, stream(), data, n));  // expect: tiny-blocks
    TF_CHECK_OK(GpuLaunchKernel(bag_kernel<T, kMore>, dim3(n, n), kMore, 0, stream(), data, n));
  }
};

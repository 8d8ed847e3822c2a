// Launches with more threads than the kernel's own bounds.
#define THREADS 512
__global__ void __launch_bounds__(256) small(float *a) { a[0] = 1; }
__global__ void __launch_bounds__(1024, 2) large(float *a) { a[0] = 1; }
__global__ void free_kernel(float *a) { a[0] = 1; }
template <int N> __global__ void __launch_bounds__(N) templated(float *a) { a[0] = N; }
void too_many(float *a) {
  small<<<1, 512>>>(a);  // expect: exceeded-launch-bounds
}
void fits(float *a) { small<<<1, 256>>>(a); }
void by_macro(float *a) {
  small<<<1, THREADS>>>(a);  // expect: exceeded-launch-bounds
}
void by_dim3(float *a) {
  small<<<dim3(4, 4), dim3(32, 16)>>>(a);  // expect: exceeded-launch-bounds
}
void by_variable(float *a) {
  dim3 block(16, 16, 2);
  small<<<1, block>>>(a);  // expect: exceeded-launch-bounds
}
void by_constant(float *a) {
  const int threads = 128;
  small<<<1, threads>>>(a);
}
void changed(float *a) {
  dim3 block(16, 16, 2);
  block.z = 1;
  small<<<1, block>>>(a);
}
void unknown(float *a, int threads) { small<<<1, threads>>>(a); }
void within_two(float *a) { large<<<1, 1024>>>(a); }
void without_bounds(float *a) { free_kernel<<<1, 1024>>>(a); }
void of_template(float *a) { templated<128><<<1, 512>>>(a); }
void with_stream(float *a, cudaStream_t s) {
  small<<<1, 2 * 192, 0, s>>>(a);  // expect: exceeded-launch-bounds
}
void in_lambda(float *a) {
  auto go = [&](int n) { small<<<n, 257>>>(a); };  // expect: exceeded-launch-bounds
  go(3);
}

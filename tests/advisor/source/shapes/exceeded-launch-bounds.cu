// Bounds in templates, macros and constants.
constexpr int kThreads = 256;
template <int N> __global__ void __launch_bounds__(kThreads) fixed(float *a) { a[0] = N; }
__global__ void __launch_bounds__(kThreads, 2) bounded(float *a) { a[0] = 1; }
void by_the_same_constant(float *a) { bounded<<<8, kThreads>>>(a); }
void twice_the_constant(float *a) {
  bounded<<<8, kThreads * 2>>>(a);  // expect: exceeded-launch-bounds
}
void template_with_fixed_bounds(float *a) {
  fixed<3><<<8, 512>>>(a);  // expect: exceeded-launch-bounds
}
void two_dimensions(float *a, int w, int h) {
  const dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
  bounded<<<grid, block>>>(a);
}
namespace detail {
__launch_bounds__(64) __global__ void narrow(float *a) { a[0] = 1; }
}
void of_a_namespace(float *a) {
  detail::narrow<<<8, 128>>>(a);  // expect: exceeded-launch-bounds
}
void checked(float *a, cudaStream_t s) {
  const int threads = 1024;
  for (int i = 0; i < 4; ++i) bounded<<<8, threads, 0, s>>>(a);  // expect: exceeded-launch-bounds
}

// Bounds that ask for more threads per SM than any SM holds.
#define THREADS 256
__global__ void __launch_bounds__(256, 16) too_much(float *a) {  // expect: overstated-launch-bounds
  a[0] = 1;
}
__global__ void __launch_bounds__(256, 8) exactly(float *a) { a[0] = 1; }
__global__ void __launch_bounds__(256) threads_only(float *a) { a[0] = 1; }
__global__ void __launch_bounds__(THREADS, 9) by_macro(float *a) {  // expect: overstated-launch-bounds
  a[0] = 1;
}
__global__ void __launch_bounds__(1024, 2) large(float *a) { a[0] = 1; }
__global__ void __launch_bounds__(1024, 3) three(float *a) {  // expect: overstated-launch-bounds
  a[0] = 1;
}
template <int N, int B> __global__ void __launch_bounds__(N, B) of_template(float *a) { a[0] = 1; }
__launch_bounds__(128, 32) __global__ void before(float *a) {  // expect: overstated-launch-bounds
  a[0] = 1;
}
__global__ void __launch_bounds__(64, 32) full(float *a) { a[0] = 1; }
__global__ void without(float *a) { a[0] = 1; }
__global__ void __launch_bounds__(32 * 4, 16) product(float *a) { a[0] = 1; }
static __global__ void __launch_bounds__(512, 4) file_only(float *a) { a[0] = 1; }
extern "C" __global__ void __launch_bounds__(512, 1) c_name(float *a) { a[0] = 1; }

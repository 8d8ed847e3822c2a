// Bounds of libraries: constants, templates, macros, attributes in any order.
constexpr int kThreads = 512;
#define BLOCKS_PER_SM 8
struct Policy { static constexpr int threads = 256, blocks = 16; };
static __launch_bounds__(kThreads, BLOCKS_PER_SM) __global__ void by_constants(float *a) {  // expect: overstated-launch-bounds
  a[0] = 1;
}
template <typename T> __global__ void __launch_bounds__(192, 11) of_template(T *a) {  // expect: overstated-launch-bounds
  a[0] = T(1);
}
template <typename P> __global__ void __launch_bounds__(P::threads, P::blocks) by_policy(float *a) { a[0] = 1; }
template <int THREADS> __global__ void __launch_bounds__(THREADS, 2048 / THREADS) computed(float *a) { a[0] = 1; }
__global__ void __launch_bounds__(kThreads, 4) just_enough(float *a) { a[0] = 1; }
__global__ void __launch_bounds__(1024, 1) one_large_block(float *a) { a[0] = 1; }
#if __CUDA_ARCH__ >= 900
__global__ void __launch_bounds__(384, 2) for_one_architecture(float *a) { a[0] = 1; }
#endif
__device__ __noinline__ float helper(float x) { return x; }
__global__ void __launch_bounds__(2 * 384, 3) by_product(float *a) {  // expect: overstated-launch-bounds
  a[0] = 1;
}
namespace detail {
template <int N> __launch_bounds__(640, 4) __global__ void nested(float *a) {  // expect: overstated-launch-bounds
  a[N] = 1;
}
}

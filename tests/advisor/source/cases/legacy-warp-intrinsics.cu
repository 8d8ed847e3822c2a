// Shuffles and votes without a mask; a dashed line starts another file.
__global__ void shuffles(float *a) {
  float v = a[threadIdx.x];
  v += __shfl_down(v, 16);  // expect: legacy-warp-intrinsics
  v += __shfl_xor(v, 1, 8);  // expect: legacy-warp-intrinsics
  a[threadIdx.x] = __shfl(v, 0);  // expect: legacy-warp-intrinsics
}
__global__ void masked(float *a) {
  a[threadIdx.x] = __shfl_down_sync(0xffffffff, a[threadIdx.x], 16);
}
__device__ bool votes(bool p) {
  return __any(p) && __ballot(p);  // expect: legacy-warp-intrinsics  // expect: legacy-warp-intrinsics
}
template <typename T> __device__ T reduced(T v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down(v, o);  // expect: legacy-warp-intrinsics
  return v;
}
__device__ bool masked_votes(bool p) { return __any_sync(__activemask(), p); }
__device__ float guarded(float v) {
#if CUDART_VERSION < 9000
  return __shfl(v, 0);
#else
  return __shfl_sync(~0u, v, 0);
#endif
}
__device__ float by_arch(float v) {
#if __CUDA_ARCH__ < 700
  return __shfl_up(v, 1);
#else
  return __shfl_up_sync(~0u, v, 1);
#endif
}
__device__ float for_amd(float v) {
#ifdef __HIP_PLATFORM_AMD__
  return __shfl(v, 0);
#else
  return __shfl_sync(~0u, v, 0);
#endif
}
__device__ int own_name(int v) { return my__shfl(v, 0); }
__device__ int reduced_by_hardware(int v) { return __reduce_add_sync(~0u, v); }
//---
__device__ inline float __shfl(float v, int lane) { return __shfl_sync(~0u, v, lane); }
__global__ void wrapped(float *a) { a[0] = __shfl(a[threadIdx.x], 0); }
//---
#define __shfl(v, lane) __shfl_sync(0xffffffffu, v, lane)
__global__ void by_macro(float *a) { a[0] = __shfl(a[threadIdx.x], 0); }
//---
namespace cg = cooperative_groups;
__global__ void groups(float *a) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  a[0] = tile.shfl_down(a[threadIdx.x], 1);
}
__device__ float of_a_library(float x) {
#if LIBRARY_CUDACC_VER < 90000
  return __shfl_xor(x, 1);
#else
  return __shfl_xor_sync(0xffffffff, x, 1);
#endif
}

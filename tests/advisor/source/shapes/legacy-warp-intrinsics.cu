// Shuffles and votes of 2016; compilers of today refuse them for all GPUs that they know.
__inline__ __device__ float warp_sum(float value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    value += __shfl_down(value, offset);  // expect: legacy-warp-intrinsics
  return value;
}
template <int WIDTH, typename T> __device__ T butterfly(T value) {
#pragma unroll
  for (int mask = WIDTH / 2; mask > 0; mask >>= 1) value += __shfl_xor(value, mask, WIDTH);  // expect: legacy-warp-intrinsics
  return value;
}
__global__ void leaders(int *out, const int *in) {
  unsigned active = __ballot(in[threadIdx.x] > 0);  // expect: legacy-warp-intrinsics
  if ((threadIdx.x & 31) == 0) out[threadIdx.x / 32] = __popc(active);
}
__global__ void all_done(int *out, const int *in) {
  while (!__all(in[threadIdx.x])) out[0]++;  // expect: legacy-warp-intrinsics
}
__global__ void masked_today(int *out, const int *in) {
  unsigned active = __ballot_sync(__activemask(), in[threadIdx.x] > 0);
  out[threadIdx.x] = __shfl_xor_sync(active, in[threadIdx.x], 1);
}
#if defined(CUDART_VERSION) && CUDART_VERSION >= 9000
__device__ int chosen_by_version(int v) { return __shfl_down_sync(0xffffffffu, v, 1); }
#else
__device__ int chosen_by_version(int v) { return __shfl_down(v, 1); }
#endif
__device__ int matched(int v) { return __match_any_sync(__activemask(), v); }
__device__ int scan_of_a_warp(int x) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int y = __shfl_up(x, d);  // expect: legacy-warp-intrinsics
    if (lane >= d) x += y;
  }
  return x;
}
__device__ int broadcast_of_the_leader(int value) {
  return __shfl(value, __ffs(__ballot(value != 0)) - 1);  // expect: legacy-warp-intrinsics  // expect: legacy-warp-intrinsics
}
__device__ bool first_of_equals(int v) { return __any(v == 0) ? threadIdx.x == 0 : false; }  // expect: legacy-warp-intrinsics

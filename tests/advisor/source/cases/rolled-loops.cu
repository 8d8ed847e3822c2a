// Opt-in: short loops of known count in kernels, without a pragma.
#define TAPS 5
__global__ void short_loop(float *a) {
  for (int i = 0; i < 4; ++i) a[i] += 1;  // expect: rolled-loops
}
__global__ void marked(float *a) {
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] += 1;
}
__global__ void by_macro(float *a) {
  for (int i = 0; i < TAPS; i++) a[i] += 1;  // expect: rolled-loops
}
__global__ void inclusive(float *a) {
  for (int i = -2; i <= 2; i++) a[i] += 1;  // expect: rolled-loops
}
__global__ void long_loop(float *a) {
  for (int i = 0; i < 4096; ++i) a[i] += 1;
}
__global__ void variable(float *a, int n) {
  for (int i = 0; i < n; ++i) a[i] += 1;
}
template <int N> __global__ void of_template(float *a) {
  for (int i = 0; i < N; ++i) a[i] += 1;
}
__global__ void nested(float *a) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) a[i] += j;  // expect: rolled-loops
}
__global__ void once(float *a) {
  for (int i = 0; i < 1; ++i) a[i] += 1;
}
__global__ void stepped(float *a) {
  for (int i = 0; i < 64; i += 8) a[i] += 1;  // expect: rolled-loops
}
__device__ void helper(float *a) {
  for (int i = 0; i < 4; ++i) a[i] += 1;
}
void on_the_host(float *a) {
  for (int i = 0; i < 4; ++i) a[i] += 1;
}
__global__ void marked_with_count(float *a) {
  #pragma unroll 4
  for (int i = 0; i < 16; ++i) a[i] += 1;
}

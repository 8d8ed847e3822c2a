// Loops of a known count in kernels.
constexpr int kTaps = 7;
template <typename T> __global__ void filter(T *out, const T *in) {
  T sum = 0;
  for (int k = 0; k < kTaps; ++k) sum += in[threadIdx.x + k];  // expect: rolled-loops
  out[threadIdx.x] = sum;
}
__global__ void from_minus_radius(float *out, const float *in) {
  float sum = 0;
  for (int k = -3; k < 4; k++) sum += in[threadIdx.x + k];  // expect: rolled-loops
  out[threadIdx.x] = sum;
}
__global__ void by_operator(float *out, const float *in) {
  float sum = 0;
  _Pragma("unroll") for (int k = 0; k < kTaps; ++k) sum += in[threadIdx.x + k];
  out[threadIdx.x] = sum;
}
template <int R> __global__ void radius_of_a_template(float *out, const float *in) {
  for (int k = -R; k <= R; ++k) out[threadIdx.x] += in[threadIdx.x + k];
}
__global__ void kept_rolled(float *out) {
#pragma unroll 1
  for (int k = 0; k < 8; ++k) out[k] *= 2.0f;
}
__global__ void halved(float *s) {
  for (int step = 16; step > 0; step /= 2) s[threadIdx.x] += s[threadIdx.x + step];
}
__global__ void block_stride(float *out) {
  for (int k = threadIdx.x; k < 1024; k += 256) out[k] = 0;
}
__global__ void three_channels(float *rgb, const float *weights) {
  for (int c = 0; c < 3; ++c) rgb[3 * threadIdx.x + c] *= weights[c];  // expect: rolled-loops
}
template <typename T> __global__ void rows_of_a_fragment(T *out, const T *in) {
  T acc[8];
  for (int i = 0; i < 8; i++) acc[i] = in[i];  // expect: rolled-loops
  for (int i = 0; i < 8; i += 2) out[i] = acc[i];  // expect: rolled-loops
}
__global__ void with_an_unsigned(float *out) {
  for (unsigned k = 0; k < 4u; ++k) out[k] += 1.0f;  // expect: rolled-loops
}
__global__ void by_enumerator(float *out) {
  enum { kCount = 6 };
  for (int k = 0; k < 2 * kTaps; k++) out[k + kCount] += 1.0f;  // expect: rolled-loops
}
__global__ void under_a_guard(float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    for (int k = 1; k <= 4; ++k) out[i] += k;  // expect: rolled-loops
  }
}

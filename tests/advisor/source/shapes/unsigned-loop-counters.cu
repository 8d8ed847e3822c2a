// Counters in indices.
#include <cstdint>
template <typename T> __global__ void columns(T *out, const T *in, uint32_t rows, uint32_t pitch) {
  for (uint32_t r = 0; r < rows; ++r) {  // expect: unsigned-loop-counters
    out[r] = in[r * pitch + threadIdx.x];
  }
}
__global__ void by_signed(float *out, const float *in, int rows, int pitch) {
  for (int r = 0; r < rows; ++r) out[r] = in[r * pitch + threadIdx.x];
}
__global__ void reversed(float *out, const float *in, unsigned n) {
  for (unsigned int i = 0; i < n; i++) {  // expect: unsigned-loop-counters
    out[i] = in[n - 1 - i];
  }
}
__global__ void only_a_count(float *out, unsigned rounds) {
  for (unsigned k = 0; k < rounds; ++k) out[threadIdx.x] *= 0.5f;
}
__global__ void bits(unsigned *out, unsigned n) {
  for (unsigned mask = 1; mask < n; mask <<= 1) out[threadIdx.x ^ mask] = mask;
}
__global__ void sixty_four(float *out, const float *in, uint64_t n, uint64_t pitch) {
  for (uint64_t i = 0; i < n; ++i) out[i] = in[i * pitch];
}
template <unsigned N> __global__ void known_count(float *out, const float *in) {
  for (unsigned i = 0; i < N; ++i) out[i] = in[2 * i];
}
__global__ void backwards(float *out, const float *in, unsigned n, int shift) {
  for (unsigned i = n - 1; i > 0; --i) out[i + shift] = in[i - 1];
}
__global__ void pointer_walk(float *out, const float *in, unsigned n) {
  const float *p = in;
  for (unsigned i = 0; i < n; ++i) out[threadIdx.x] += *p++;
}
__device__ float dot(const float *a, const float *b, unsigned n, unsigned stride) {
  float sum = 0;
  for (unsigned k = 0; k < n; k++) {  // expect: unsigned-loop-counters
    sum += a[k * stride] * b[k * stride];
  }
  return sum;
}
__global__ void from_the_thread(float *out, const float *in, const unsigned n, const unsigned offset) {
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i + offset];  // waits for memory
}
template <typename T> __global__ void down_a_column(T *m, uint32_t height, uint32_t width) {
  for (uint32_t y = 1; y < height; ++y) m[y * width] += m[(y - 1) * width];  // expect: unsigned-loop-counters
}

// An unsigned counter counts when an index computes with it and the bound is not a constant.
#define N 16
__global__ void strided(float *out, const float *in, unsigned n, unsigned offset, unsigned stride) {
  for (unsigned i = 0; i < n; i++) {  // expect: unsigned-loop-counters
    out[i] = in[offset + stride * i];
  }
}
__global__ void signed_counter(float *out, const float *in, int n, int offset, int stride) {
  for (int i = 0; i < n; i++) out[i] = in[offset + stride * i];
}
__global__ void plain_index(float *out, unsigned n) {
  for (unsigned i = 0; i < n; i++) out[i] = 0;
}
__global__ void sized(float *out, const float *in, size_t n, size_t stride) {
  for (size_t i = 0; i < n; i++) out[i] = in[stride * i];
}
__global__ void constant_bound(float *out, const float *in, unsigned stride) {
  for (unsigned i = 0; i < 8; i++) out[i] = in[stride * i];
  for (unsigned i = 0; i < N; i++) out[i] = in[stride * i];
}
template <unsigned M> __global__ void template_bound(float *out, const float *in, unsigned stride) {
  for (unsigned i = 0; i < M; ++i) out[i] = in[stride * i];
}
__global__ void fixed_width(float *out, const float *in, uint32_t n, uint32_t stride) {
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {  // dealt out: it waits for memory
    out[i] = in[i * stride];
  }
}
__global__ void doubling(float *s, unsigned n) {
  for (unsigned step = 1; step < n; step *= 2) s[threadIdx.x] += s[threadIdx.x + step];
}
__global__ void unused(float *out, unsigned n) {
  for (unsigned i = 0; i < n; ++i) out[threadIdx.x * 2] += 1;
}
__device__ float helper(const float *row, unsigned int width, int pitch) {
  float sum = 0;
  for (unsigned int k = 0; k < width; ++k)  // expect: unsigned-loop-counters
    sum += row[k * pitch];
  return sum;
}
void on_the_host(float *out, const float *in, unsigned n) {
  for (unsigned i = 0; i < n; i++) out[i] = in[2 * i];
}
typedef unsigned int uint;
__global__ void by_typedef(float *out, const float *in, uint n) {
  for (uint i = 0; i < n; i++) {  // expect: unsigned-loop-counters
    out[i] = in[i + n];
  }
}
__global__ void automatic(float *out, const float *in, int n) {
  for (auto i = 0; i < n; i++) out[i] = in[2 * i];
}
__global__ void while_loop(float *out, const float *in, unsigned n) {
  unsigned i = 0;
  while (i < n) out[i] = in[2 * i++];
}
__global__ void around_a_loop(float *out, const float *in, unsigned n, unsigned m) {
  for (unsigned row = 0; row < n; row++)
    for (int k = 0; k < m; k++) out[row + 1] += in[k];
}
__global__ void gathered_by_counter(int *out, const int *place, int n, int offset) {
  for (unsigned i = 0; i < n; ++i) out[offset + place[i]] = 1;
}
__global__ void dealt_out(float *tile, const float *x, unsigned int n, unsigned int step) {
  const unsigned int first = threadIdx.y * 32 + threadIdx.x;
  for (unsigned int i = first; i < n; i += step) tile[i * 2] = x[i * 2 + blockIdx.x * n];
}

// Kernels whose threads move one element of one or two bytes each.
__global__ void inverted(unsigned char *out, const unsigned char *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 255 - in[i];  // expect: narrow-elements
}
__global__ void vectors(uchar4 *out, const uchar4 *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void words(int *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void shorts(short *out, const short *in, int n) {
  const unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) out[i] = in[i] + in[i];  // expect: narrow-elements
}
__global__ void converted(float *out, const unsigned char *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void gathered(char *out, const char *in, const int *index, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}
__global__ void filled(char *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0;
}
__global__ void in_shared(const char *in) {
  __shared__ char s[256];
  s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
}
template <typename T> __global__ void of_template(T *out, const T *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__device__ void helper(char *out, const char *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}
__global__ void rows(uint8_t *out, const uint8_t *in, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  out[blockIdx.y * pitch + x] = in[x];  // expect: narrow-elements
}
__global__ void fixed_width(uint8_t *out, const uint8_t *in, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = in[i] ^ 0x80;  // expect: narrow-elements
  }
}
__global__ void by_byte_pointer(int *out, const char *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = ((const int *)in)[i];
}
typedef unsigned char pixel;
__global__ void through_typedef(pixel *out, const pixel *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] >> 1;  // expect: narrow-elements
}
__global__ void by_index_itself(uint8_t *out, const uint8_t *a, const uint8_t *b) {
  out[blockIdx.x * blockDim.x + threadIdx.x] =  // expect: narrow-elements
      a[blockIdx.x * blockDim.x + threadIdx.x] ^ b[blockIdx.x * blockDim.x + threadIdx.x];
}
__global__ void copied(int16_t *__restrict__ out, const int16_t *__restrict__ in, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i];  // expect: narrow-elements
}
__global__ void of_an_image(unsigned char *c, const unsigned char *a, const unsigned char *b, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int i = y * w + x;
  c[i] = a[i] - b[i];  // expect: narrow-elements
}
__global__ void through_a_name(unsigned short *d, int w, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  unsigned short v = d[y * pitch + x];  // expect: narrow-elements
  if (v == 0) v = w;
  d[y * pitch + x] = v;
}
__global__ void a_window(unsigned char *out, const unsigned char *in, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  for (int k = 0; k < 3; ++k) sum += in[x + k * w];
  out[x] = sum;
}
__global__ void with_floats(float *out, const unsigned char *in, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * w + x;
  out[i] = in[i];
}
//---
#include <cuda_fp16.h>
__global__ void halves(__half *out, const __half *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __hmul(in[i], in[i]);  // expect: narrow-elements
}
__global__ void converted(__half *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __float2half(in[i]);  // expect: narrow-elements
}
__global__ void gathered(__half *out, const __half *in, const int *from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[from[i]];
}
__global__ void widened(float *out, const __half *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __half2float(in[i]);
}

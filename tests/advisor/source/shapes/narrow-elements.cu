// Bytes and 16-bit words of images and tensors.
#include <cstdint>
#include <cuda_fp16.h>
__global__ void threshold(uint8_t *out, const uint8_t *in, uint8_t limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] > limit ? 255 : 0;  // expect: narrow-elements
}
__global__ void pixels_of_an_image(uint8_t *out, const uint8_t *in, int w, int h, int pitch) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * pitch + x] = in[y * pitch + x];  // expect: narrow-elements
}
__global__ void looked_up(uint8_t *out, const uint8_t *in, const uint8_t *table, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[in[i]];
}
__global__ void four_at_once(uchar4 *out, const uchar4 *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_uchar4(in[i].z, in[i].y, in[i].x, in[i].w);
}
__global__ void dequantised(float *out, const int8_t *in, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * scale;
}
__global__ void grey(uint8_t *out, const uchar3 *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (in[i].x + in[i].y + in[i].z) / 3;
}
__global__ void mixed_masks(bool *out, const bool *a, const bool *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] && b[i];  // expect: narrow-elements
}
__global__ void samples(int16_t *__restrict__ out, const int16_t *__restrict__ in, int gain, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) out[i] = (in[i] * gain) >> 8;  // expect: narrow-elements
}
__global__ void ciphered(unsigned char *text, const unsigned char *key, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) text[i] = text[i] ^ key[i];  // expect: narrow-elements
}

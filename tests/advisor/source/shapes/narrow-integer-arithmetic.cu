// Counters of eight and sixteen bits.
#include <cstdint>
__global__ void channels(float *out, const float *in, int count) {
  for (uint8_t c = 0; c < count; ++c) out[c] = in[c];  // expect: narrow-integer-arithmetic
}
template <int C> __global__ void known_channels(float *out, const float *in) {
  for (uint8_t c = 0; c < C; ++c) out[c] = in[c];
}
__global__ void wide_counter(uint8_t *out, int n) {
  for (int c = 0; c < n; ++c) out[c] = static_cast<uint8_t>(c);
}
__global__ void neighbours(int *out, const int *in, int radius) {
  for (int8_t dx = -1; dx <= 1; ++dx) out[threadIdx.x] += in[threadIdx.x + dx] * radius;
}
__global__ void levels(float *out, uint16_t count) {
  for (uint16_t level = 0; level < count; ++level) out[level] = 0.0f;
}
__global__ void until_found(int *out, const char *text, int n) {
  unsigned short at = 0;
  while (at < n && text[at] != ' ') at++;  // expect: narrow-integer-arithmetic
  out[0] = at;
}
__global__ void table_of_bytes(unsigned char *out, const unsigned char *table, int n) {
  for (int i = 0; i < n; ++i) out[i] = table[out[i]] + 1;
}

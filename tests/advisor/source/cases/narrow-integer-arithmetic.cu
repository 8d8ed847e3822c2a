// Sums and counters of type char or short that a loop updates.
__global__ void counter(short *out, int n) {
  for (short i = 0; i < n; ++i) {  // expect: narrow-integer-arithmetic
    out[i] = 0;
  }
}
__global__ void sum(unsigned char *out, const unsigned char *in, int n) {
  unsigned char total = 0;
  for (int i = 0; i < n; ++i) total += in[i];  // expect: narrow-integer-arithmetic
  out[0] = total;
}
__global__ void wide_sum(unsigned char *out, const unsigned char *in, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += in[i];
  out[0] = total;
}
__global__ void elements(unsigned char *out, int n) {
  for (int i = 0; i < n; ++i) out[i] += 1;
}
__global__ void outside(short *out) {
  short s = 1;
  s += 2;
  out[0] = s;
}
__global__ void fixed_width(int16_t *out, int n) {
  int16_t s = 0;
  while (n-- > 0) s *= 3;  // expect: narrow-integer-arithmetic
  out[0] = s;
}
template <typename T> __global__ void of_template(T *out, int n) {
  T s = 0;
  for (int i = 0; i < n; ++i) s += 1;
  out[0] = s;
}
__global__ void halves(__half *out, int n) {
  __half s = out[0];
  for (int i = 0; i < n; ++i) s += out[i];
  out[0] = s;
}
__global__ void masked(unsigned char *out, int n) {
  unsigned char m = 1;
  for (int i = 0; i < n; ++i) m |= out[i];
  out[0] = m;
}
void on_the_host(short *out, int n) {
  for (short i = 0; i < n; ++i) out[i] = 0;
}
__device__ int helper(const char *text) {
  uint8_t digit = 0;
  for (; *text; ++text) digit++;  // expect: narrow-integer-arithmetic
  return digit;
}
__global__ void unsigned_short(ushort *out, int n) {
  ushort k = 0;
  do { k += 2; } while (k < n);  // expect: narrow-integer-arithmetic
  out[0] = k;
}

// Loop counters of type char or short that the compiler must cut to their width in every step.
#define ROWS 16
__global__ void unsigned_byte(float *out, int n) {
  for (unsigned char i = 0; i < n; ++i) {  // expect: narrow-integer-arithmetic
    out[i] = 0;
  }
}
__global__ void strided(short *out, int n) {
  for (short i = threadIdx.x; i < n; i += blockDim.x) {  // expect: narrow-integer-arithmetic
    out[i] = 0;
  }
}
__global__ void declared_before(float *out, const float *in, int n) {
  ushort i;
  for (i = 0; i < n; i++) out[i] = in[i];  // expect: narrow-integer-arithmetic
}
__global__ void unsigned_short(ushort *out, int n) {
  ushort k = 0;
  do { k += 2; } while (k < n);  // expect: narrow-integer-arithmetic
  out[0] = k;
}
__device__ int first_set(const float *x, int n) {
  uint8_t i = 0;
  while (i < n && x[i] == 0) ++i;  // expect: narrow-integer-arithmetic
  return i;
}
template <typename T> __global__ void downwards(T *out, int n, int last) {
  for (int16_t row = n; row > last; row -= 2) out[row] = 0;  // expect: narrow-integer-arithmetic
}
__global__ void bound_on_the_left(float *out, unsigned n) {
  for (uint16_t i = 0; n > i; i++) out[i] = 0;  // expect: narrow-integer-arithmetic
}
__global__ void grown(float *out, short limit) {
  for (short step = 1; step <= limit; step *= 2) out[step] = 0;  // expect: narrow-integer-arithmetic
}
// A signed counter that goes up by one is widened: the same machine code as with int.
__global__ void signed_by_one(short *out, int n) {
  for (short i = 0; i < n; ++i) out[i] = 0;
}
// Sums are widened as well, and cut once at the end.
__global__ void sum(unsigned char *out, const unsigned char *in, int n) {
  unsigned char total = 0;
  for (int i = 0; i < n; ++i) total += in[i];
  out[0] = total;
}
__global__ void constant_bound(float *out, const float *in) {
  for (uchar i = 0; i < 8; i++) out[i] = in[i];
  for (unsigned char i = 0; i < ROWS; i += 2) out[i] = in[i];
}
template <int N> __global__ void template_bound(float *out) {
  for (unsigned char i = 0; i < N; ++i) out[i] = 0;
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
template <typename T> __global__ void of_template(T *out, int n) {
  for (T s = 0; s < n; s += 3) out[0] = s;
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
__device__ int digits(const char *text) {
  uint8_t digit = 0;
  for (; *text; ++text) digit++;
  return digit;
}
void on_the_host(short *out, int n) {
  for (short i = 0; i < n; i += 3) out[i] = 0;
}
// The bound is as narrow: the counter never leaves its range.
__global__ void narrow_bound(float *out, uint16_t count) {
  for (uint16_t i = 0; i < count; i++) out[i] = 0;
}
__global__ void unknown_bound(float *out, State state) {
  for (uint8_t i = 0; i < state.size(); i++) out[i] = 0;
}
__global__ void last_included(float *out, uint8_t rounds) {
  for (uint8_t i = 1; i <= rounds; i++) out[i] = 0;  // expect: narrow-integer-arithmetic
}

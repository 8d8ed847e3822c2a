// A literal without f counts when it makes a float expression double, and the result is float again.
typedef float real;
typedef double wide;
#define HALF 0.5
__global__ void scaled(float *out, const float *in, int i) {
  out[i] = in[i] * 0.5;  // expect: implicit-double
}
__global__ void suffixed(float *out, const float *in, int i) { out[i] = in[i] * 0.5f; }
__global__ void doubles(double *out, const double *in, int i) { out[i] = in[i] * 0.5; }
__global__ void accumulated_in_double(double *out, const float *in, int i) { out[i] = in[i] * 0.5; }
__global__ void through_typedef(real *out, real x) {
  out[0] = 1.0 - x;  // expect: implicit-double
}
__global__ void wide_typedef(wide *out, wide x) { out[0] = 1.0 - x; }
template <typename T> __global__ void of_template(T *out, T x) { out[0] = x * 0.5; }
__global__ void initialised(float *out) {
  float half = 0.5;
  out[0] = half;
}
__device__ float returned(float x) {
  return 2.0 * x;  // expect: implicit-double
}
__device__ double returned_double(float x) { return 2.0 * x; }
__device__ bool compared(float x) {
  return x < 0.1;  // expect: implicit-double
}
__global__ void guarded(float *out, float x) {
  if (x > 1e-6) {  // expect: implicit-double
    out[0] = x;
  }
}
__global__ void with_a_double(float *out, float x, double scale) { out[0] = x * 0.5 * scale; }
__global__ void meant(float *out, float x) { out[0] = (double)x * 0.5; }
__global__ void vectors(float4 *out, float4 v, int i) {
  out[i].x = v.x * 0.25;  // expect: implicit-double
}
__global__ void maxed(float *out, float x) {
  out[0] = fmax(x, 0.0);  // expect: implicit-double
}
__global__ void known_auto(float *out, const float *in) {
  auto x = in[0];
  out[0] = x + 1.0;  // expect: implicit-double
}
__global__ void unknown_auto(float *out, Object o) {
  auto x = o.value();
  out[0] = x + 1.0;
}
__global__ void halves(__half *out, __half x) { out[0] = x; }
__global__ void compound(float *out, float x) {
  float sum = 0.f;
  sum += x * 1.5;  // expect: implicit-double
  out[0] = sum;
}
__global__ void argument(float *out, float x) {
  out[0] = expf(-0.5 * x);  // expect: implicit-double
}
__global__ void unknown_call(float *out, float x) { out[0] = mystery(x * 0.5); }
__global__ void integers(int *out, int x) { out[0] = x * 0.5; }
__global__ void hexadecimal(float *out, float x, unsigned e) { out[0] = x * 0x1e; }
void on_the_host(float *out, float x) { out[0] = x * 0.5; }
#ifdef USE_DOUBLE
using scalar = double;
#else
using scalar = float;
#endif
__global__ void either(scalar *out, scalar x) { out[0] = x * 0.5; }

// A literal without f counts when it makes a float expression double, and the result is float again.
// Where one operation with an exact literal goes straight into a float, compilers use floats anyway.
typedef float real;
typedef double wide;
#define HALF 0.5
__global__ void scaled(float *out, const float *in, int i) {
  out[i] = in[i] * 0.1;  // expect: implicit-double
}
__global__ void exact(float *out, const float *in, int i) { out[i] = in[i] * 0.5; }
__global__ void exact_quotient(float *out, const float *in, int i) {
  const float inverse = 1.0 / in[i];
  out[i] = (1.0 - inverse);
}
__global__ void exact_update(float *out, float x) {
  out[0] += 1.0;
  out[1] *= -0.25;
  out[2] = sqrtf(x * 0.5);
  out[3] = -(0.5 * x);
}
__global__ void exact_in_a_sum(float *out, float x, float y) {
  out[0] = 0.5 * x + y;  // expect: implicit-double
}
__global__ void lerp(float *out, float a, float b, float t) {
  out[0] = a * (1.0 - t) + b * t;  // expect: implicit-double
}
__global__ void exact_into_an_integer(int *out, float x) {
  int pixel = x + 0.5;  // expect: implicit-double
  out[0] = pixel;
}
__global__ void update_by_an_inexact(float *out) {
  out[0] *= 0.1;  // expect: implicit-double
}
__global__ void suffixed(float *out, const float *in, int i) { out[i] = in[i] * 0.1f; }
__global__ void doubles(double *out, const double *in, int i) { out[i] = in[i] * 0.1; }
__global__ void accumulated_in_double(double *out, const float *in, int i) { out[i] = in[i] * 0.1; }
__global__ void through_typedef(real *out, real x) {
  out[0] = 1.1 - x;  // expect: implicit-double
}
__global__ void wide_typedef(wide *out, wide x) { out[0] = 1.1 - x; }
template <typename T> __global__ void of_template(T *out, T x) { out[0] = x * 0.1; }  // expect: implicit-double
__global__ void initialised(float *out) {
  float tenth = 0.1;
  out[0] = tenth;
}
__device__ float returned(float x) {
  return 2.2 * x;  // expect: implicit-double
}
__device__ double returned_double(float x) { return 2.2 * x; }
__device__ bool compared(float x) {
  return x < 0.1;  // expect: implicit-double
}
__device__ bool compared_exactly(float x, float y) { return x < 0.5 && y >= -1.0; }
__device__ bool compared_after_a_product(float x, float y) {
  return x * 2.0 > y;  // expect: implicit-double
}
__global__ void guarded(float *out, float x) {
  if (x > 1e-6) {  // expect: implicit-double
    out[0] = x;
  }
}
__global__ void with_a_double(float *out, float x, double scale) { out[0] = x * 0.1 * scale; }
__global__ void meant(float *out, float x) { out[0] = (double)x * 0.1; }
__global__ void vectors(float4 *out, float4 v, int i) {
  out[i].x = v.x * 0.3;  // expect: implicit-double
}
__global__ void maxed(float *out, float x) {
  out[0] = fmax(x, 0.0);  // expect: implicit-double
}
__global__ void known_auto(float *out, const float *in) {
  auto x = in[0];
  out[0] = x + 1.1;  // expect: implicit-double
}
__global__ void unknown_auto(float *out, Object o) {
  auto x = o.value();
  out[0] = x + 1.1;
}
__global__ void halves(__half *out, __half x) { out[0] = x; }
__global__ void compound(float *out, float x) {
  float sum = 0.f;
  sum += x * 1.5;  // expect: implicit-double
  out[0] = sum;
}
__global__ void argument(float *out, float x) {
  out[0] = expf(-0.5 * x * x);  // expect: implicit-double
}
__global__ void unknown_call(float *out, float x) { out[0] = mystery(x * 0.1); }
__global__ void integers(int *out, int x) { out[0] = x * 0.1; }
__global__ void hexadecimal(float *out, float x, unsigned e) { out[0] = x * 0x1e; }
void on_the_host(float *out, float x) { out[0] = x * 0.1; }
#ifdef USE_DOUBLE
using scalar = double;
#else
using scalar = float;
#endif
__global__ void either(scalar *out, scalar x) { out[0] = x * 0.1; }
__device__ float between(float x, float y) { return x + y; }
__device__ float mix(float x, float y) { return x - y; }
__global__ void arguments_of_float_functions(float *x, float t) {
  x[0] = fmaxf(t, 1.0);
  x[1] = powf(t, 2.3);
  x[2] = between(t, 0.3);
  x[3] = mix(t, 0.3);
  x[4] = __fdividef(t, 0.3);
}
__global__ void argument_of_the_larger_type(float *x, float t) {
  x[0] = max(t, 0.3);  // expect: implicit-double
}
__global__ void smallest_of_floats(float *out, const float *x, int n) {
  double best = 1e40, second = 1e40;  // expect: implicit-double
  for (int i = 0; i < n; ++i) {
    float d = x[i];
    if (d < best) {
      second = best;
      best = d;
    } else if (d < second) {
      second = d;
    }
  }
  out[0] = best;
}
__global__ void sum_in_doubles(float *out, const float *x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i];
  out[0] = sum;
}
__global__ void smallest_of_doubles(double *out, const double *x, int n) {
  double best = 1e40;
  for (int i = 0; i < n; ++i)
    if (x[i] < best) best = x[i];
  out[0] = best;
}
__global__ void begins_with_a_double(float *out, const float *x, const double *y, int n) {
  double best = y[0];
  for (int i = 0; i < n; ++i)
    if (x[i] < best) best = x[i];
  out[0] = best;
}
__global__ void two_calls(float *out, const float *x) {
  float t = x[0], p = x[1];
  out[0] = -t * log(p + .0000001) - (1 - t) * log(1 - p + .0000001f);  // expect: implicit-double
}
template <typename T> __global__ void of_a_type(T *x, int n) {
  T v = x[threadIdx.x];
  T w = v * 0.3 * v;  // expect: implicit-double
  x[threadIdx.x] = w * 0.7 + static_cast<T>(0.1);
}
template <typename T> __global__ void exact_of_a_type(T *x) {
  T v = x[threadIdx.x];
  T w = 1. - v;
  x[threadIdx.x] = w;
}
template <typename T> __global__ void converted_to_the_type(T *x) {
  T v = x[threadIdx.x];
  x[threadIdx.x] = v * T(0.3);
}
__global__ void of_the_build(REAL *x) {
  REAL v = x[threadIdx.x];
  REAL w = v * 0.3 * v;  // expect: implicit-double
  x[threadIdx.x] = w;
}
__global__ void of_some_class(Thing *x) {
  Thing v = x[threadIdx.x];
  Thing w = v * 0.3 * v;
  x[threadIdx.x] = w;
}
__constant__ double rate;
__global__ void rate_in_a_loop(float *x, int n) {
  float v = x[threadIdx.x];
  for (int k = 0; k < n; ++k) v = v * rate + x[k];  // expect: implicit-double
  x[threadIdx.x] = v;
}
__global__ void rate_converted(float *x, int n) {
  float v = x[threadIdx.x], r = rate;
  for (int k = 0; k < n; ++k) v = v * r + x[k];
  x[threadIdx.x] = v;
}
__global__ void sum_in_double(float *x, int n) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += x[k] * rate;
  x[threadIdx.x] = sum;
}
__device__ float limited(const float x, const float least, const float most) { return fminf(most, fmaxf(x, least)); }
__global__ void handed_to_a_function(float *out, const float *x, unsigned int n) {
  float v = x[threadIdx.x];
  out[threadIdx.x] = limited(0.5 * (v + 1) * n, 0.0f, 1.0f);  // expect: implicit-double
}
__global__ void distances(float *out, const float *x, float limit) {
  float a = x[threadIdx.x], b = x[threadIdx.x + 1];
  if (abs(1.0 / a - b) < limit) out[threadIdx.x] = 1;  // expect: implicit-double
}
__global__ void of_a_tensor(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> w, float *out) {
  float v = .001 * w[0][threadIdx.x];  // expect: implicit-double
  out[threadIdx.x] = v;
}
template <typename T> __global__ void in_a_loop_too(T *out, const T *x, int width) {
  T sum = x[threadIdx.x] - 0.1;  // expect: implicit-double
  for (int i = 0; i < width; ++i) {
    T w = x[i];
    w = min(max(w, 0.), width - 1.);  // expect: implicit-double
    sum += w;
  }
  out[threadIdx.x] = sum;
}
__global__ void rows_by_doubles(int *out, int width) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = int(double(i) / double(width));  // expect: implicit-double
  out[i] = row + (int)i / width;
}
#define TURN 6.28318530718
#define HALF 0.5
#define QUARTER_TURN 1.5707963f
__global__ void by_the_header(float *x, float s) {
  x[threadIdx.x] = 1.0f / (s * M_PI);  // expect: implicit-double
}
__global__ void by_a_macro(float *x) {
  x[threadIdx.x] = sinf(TURN * x[threadIdx.x]);  // expect: implicit-double
}
__device__ float wrapped(float angle) {
  while (angle > M_PI) angle -= TURN;  // expect: implicit-double // expect: implicit-double
  return angle;
}
__global__ void exact_macros(float *x) {
  x[threadIdx.x] = HALF * x[threadIdx.x];
}
__global__ void macros_of_floats(float *x) {
  x[threadIdx.x] = QUARTER_TURN * x[threadIdx.x];
}
__global__ void doubles_of_the_author(double *x) {
  x[threadIdx.x] = M_PI * x[threadIdx.x];
}
__global__ void converted_once(float *x) {
  x[threadIdx.x] = float(M_PI) * x[threadIdx.x];
}
__global__ void a_variable_of_that_name(float *x, float M_PI_2) {
  x[threadIdx.x] = M_PI_2 * x[threadIdx.x];
}
__global__ void beside_an_integer(float *x, int k) {
  x[k] = 2.5 * x[k] + 1.5 * (k + 0.5) * x[k];  // expect: implicit-double
}

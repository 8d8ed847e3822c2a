// Powers with a short form, sines of multiples of pi, sine with cosine, a root that divides.
#define THIRD (1.0f / 3.0f)
#define M_PI 3.14159265358979323846
__device__ float square(float x) {
  return powf(x, 2.0f);  // expect: general-math-functions
}
__device__ float cube_root(float x) {
  return powf(x, 1.0f / 3.0f);  // expect: general-math-functions
}
__device__ float seven_sixths(float x) {
  return powf(x, -7.0f / 6);  // expect: general-math-functions
}
__device__ double four_thirds(double x) {
  return pow(x, 4.0 / 3.0);  // expect: general-math-functions
}
__device__ float by_macro(float x) {
  return powf(x, THIRD);  // expect: general-math-functions
}
__device__ float nearly_a_third(float x) { return powf(x, 0.333f); }
__device__ float a_third(float x) {
  return powf(x, 0.33333333f);  // expect: general-math-functions
}
__device__ float integer_quotient(float x) {
  return powf(x, 1 / 3);  // expect: general-math-functions
}
__device__ float variable(float x, float y) { return powf(x, y); }
__device__ float gamma(float x) { return powf(x, 2.2f); }
__device__ float exponential(float x) {
  return powf(2.0f, x);  // expect: general-math-functions
}
__device__ double decimal(double x) {
  return pow(10.0, x);  // expect: general-math-functions
}
__device__ float wave(float x) {
  return sinf(2.0f * M_PI * x);  // expect: general-math-functions
}
__device__ float plain_wave(float x) { return sinf(2.0f * x); }
__device__ void rotation(float a, float *s, float *c) {
  *s = sinf(a);
  *c = cosf(a);  // expect: general-math-functions
}
__device__ float two_arguments(float a, float b) { return sinf(a) + cosf(b); }
__device__ float changed(float a) {
  float s = sinf(a);
  a += 1.0f;
  return s * cosf(a);
}
__device__ float both_known(float a, float *s) {
  sincosf(a, s, s + 1);
  return *s;
}
__device__ float inverse_root(float x) {
  return 1.0f / sqrtf(x);  // expect: general-math-functions
}
__device__ double inverse_root_of_double(double x) {
  return 1.0 / sqrt(x);  // expect: general-math-functions
}
__device__ float root(float x) { return 2.0f / sqrtf(x); }
__device__ float already(float x) { return rsqrtf(x) * cbrtf(x) * sinpif(x); }
template <typename T> __device__ T of_template(T x) {
  return pow(x, T(0.7));
}
template <typename T> __device__ T of_template_squared(T x) {
  return pow(x, 2);  // expect: general-math-functions
}
float on_the_host(float x) { return powf(x, 2.0f); }
__device__ float quarter(float x) {
  const float e = 0.25f;
  return powf(x, e);  // expect: general-math-functions
}
__device__ float other_cases(float x, int kind) {
  switch (kind) {
    case 0: return sinf(x) + 1.0f;
    case 1: return cosf(x) + 2.0f;
    default: break;
  }
  return x;
}
__global__ void pair_of_intrinsics(float *x, float a) { x[0] = __sinf(a) + __cosf(a); }

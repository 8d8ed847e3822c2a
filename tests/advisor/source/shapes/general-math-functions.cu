// Powers, roots and trigonometry as simulation codes write them.
#define PI_F 3.14159265f
struct Vec { float x, y, z; };
__device__ float norm(Vec v) {
  return sqrtf(powf(v.x, 2) + v.y * v.y + v.z * v.z);  // expect: general-math-functions
}
__device__ float inverse_distance(Vec v) {
  return 1.0f / sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);  // expect: general-math-functions
}
__device__ float inverse_distance_fast(Vec v) { return rsqrtf(v.x * v.x + v.y * v.y + v.z * v.z); }
__device__ float gamma_correct(float x) { return powf(x, 1.0f / 2.4f); }
__device__ float any_power(float x, float y) { return powf(x, y); }
__device__ float window(int i, int n) {
  return 0.5f - 0.5f * cosf(2.0f * PI_F * i / n);  // expect: general-math-functions
}
__device__ float window_in_pi(int i, int n) { return 0.5f - 0.5f * cospif(2.0f * i / n); }
__device__ void rotate(float *x, float *y, float angle) {
  float c = cosf(angle);
  float s = sinf(angle);  // expect: general-math-functions
  float t = *x * c - *y * s;
  *y = *x * s + *y * c;
  *x = t;
}
__device__ void rotate_at_once(float *x, float *y, float angle) {
  float s, c;
  sincosf(angle, &s, &c);
  float t = *x * c - *y * s;
  *y = *x * s + *y * c;
  *x = t;
}
__device__ void two_angles(float *out, float a, float b) {
  out[0] = sinf(a);
  out[1] = cosf(b);
}
__device__ float angle_between(float *out, float a) {
  float s = sinf(a);
  a += 0.5f;
  return s * cosf(a);
}
__device__ double lennard_jones(double r) {
  double s6 = pow(r, -6.0);
  return 4.0 * (s6 * s6 - s6);
}
__device__ double cubed(double r) {
  return pow(r, 3.0);  // expect: general-math-functions
}
__device__ double square_root(double r) {
  return pow(r, 0.5);  // expect: general-math-functions
}
__device__ float two_to_the(float level) {
  return powf(2.0f, level);  // expect: general-math-functions
}
__device__ float two_to_the_special(float level) { return exp2f(level); }
template <typename T> __device__ T ratio(T a, T b) { return a / sqrt(b); }
__device__ float quotient(float a, float b) { return a / sqrtf(b); }
__device__ float decibels(float x) {
  return powf(10.0f, x / 20.0f);  // expect: general-math-functions
}
__device__ float hypotenuse(float a, float b) { return sqrtf(a * a + b * b); }
namespace fast { __device__ float pow(float x, float y); }
__device__ float of_another_namespace(float x) { return fast::pow(x, 2.0f); }
struct Field { __device__ float sin(float) const; };
__device__ float method(Field f, float x) { return f.sin(PI_F * x); }
#ifdef ACCURATE
__device__ double conditional_code(double x) {
  return 1.0 / sqrt(x);  // expect: general-math-functions
}
#endif
__device__ float polar(float r, float phi) {
  const float x = r * __cosf(phi), y = r * __sinf(phi);
  return x + y;
}

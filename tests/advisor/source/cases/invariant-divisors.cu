// Divisions of floats by what the loop around them does not change.
__global__ void shares(float *x, float sum, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i] / sum;  // expect: invariant-divisors
}
__global__ void in_place(float *x, float sum, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] /= sum;  // expect: invariant-divisors
}
__global__ void by_a_count(float *x, int count, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / count;  // expect: invariant-divisors
}
__global__ void of_a_call(float *x, int n) {
  __shared__ float sum;
  sum = x[0];
  for (int i = 0; i < n; ++i) x[i] = expf(x[i]) / sum;  // expect: invariant-divisors
}
__global__ void by_a_product(float *out, const float *x, float q, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] / (2.0f * q);  // expect: invariant-divisors
  out[0] = sum;
}
__device__ double of_doubles(const double *x, double length, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] / length;  // expect: invariant-divisors
  return sum;
}
__global__ void by_an_element(float *x, const float *sums, int n) {
  for (int i = 0; i < n; ++i) x[i] /= sums[blockIdx.x];  // expect: invariant-divisors
}
__global__ void twice(float *x, float *y, float sum, int n) {
  for (int i = 0; i < n; ++i) {
    x[i] = x[i] / sum;  // expect: invariant-divisors
    y[i] = y[i] / sum;
  }
}
__global__ void by_a_constant(float *x, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / 3.0f;
}
__global__ void by_a_macro(float *x, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / SCALE;
}
template <int N> __global__ void by_a_parameter(float *x) {
  for (int i = 0; i < N; ++i) x[i] = x[i] / N;
}
__global__ void without_a_loop(float *x, float sum) { x[threadIdx.x] /= sum; }
__global__ void of_integers(int *x, int count, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / count;
}
__global__ void by_what_changes(float *x, const float *y, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / y[i];
}
__global__ void by_a_sum_so_far(float *x, float sum, int n) {
  for (int i = 0; i < n; ++i) {
    sum += x[i];
    x[i] = x[i] / sum;
  }
}
__global__ void of_what_stays(float *x, float a, float b, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] + a / b;
}
__global__ void beside_an_inner_loop(float *x, float count, int n) {
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += x[k];
    x[i] = sum / count;
  }
}
__global__ void by_a_call(float *x, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / length(n);
}
template <typename T> __global__ void of_unknown_type(T *x, T sum, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] / sum;
}
__global__ void by_a_known_name(float *x, int n) {
  const float half = 2.0f;
  for (int i = 0; i < n; ++i) x[i] = x[i] / half;
}
__global__ void by_what_is_handed_out(float *x, float sum, int n) {
  for (int i = 0; i < n; ++i) {
    refine(&sum, x[i]);
    x[i] = x[i] / sum;
  }
}
void on_the_host(float *x, float sum, int n) {
  for (int i = 0; i < n; ++i) x[i] /= sum;
}
__global__ void cells(int *out, const float *x, float width, int n) {
  for (int i = 0; i < n; ++i) out[i] = (int)(x[i] / width) + int(x[i] / width);
}
__global__ void whole_cells(float *out, const float *x, float width, int n) {
  for (int i = 0; i < n; ++i) out[i] = floorf(x[i] / width);
}
__global__ void homogeneous(float *out, const float *p) {
  int i = threadIdx.x;
  float w = p[4 * i + 3];
  out[3 * i] = p[4 * i] / w;  // expect: invariant-divisors
  out[3 * i + 1] = p[4 * i + 1] / w;
  out[3 * i + 2] = p[4 * i + 2] / w;
}
__global__ void the_same_quotient(float *out, const float *p, float dt, float dx) {
  int i = threadIdx.x;
  out[i] = p[i] * (dt / dx) + p[i + 1] * (dt / dx) + p[i + 2] * (dt / dx);
}
__global__ void of_ways_that_exclude_each_other(float *out, float x, float y, float w) {
  if (x > 0) out[0] = x / w;
  if (y > 0) out[1] = y / w;
  if (x < y) out[2] = (x - y) / w;
}
__global__ void divisor_that_changes(float *out, float x, float y, float w) {
  out[0] = x / w;
  out[1] = y / w;
  w += 1;
  out[2] = (x - y) / w;
}
__global__ void branches_of_the_preprocessor(float *out, float x, float y, float w) {
#ifdef ROWS
  out[0] = x / w;
  out[1] = y / w;
#else
  out[2] = (x - y) / w;
  out[3] = (x + y) / w;
#endif
}
__global__ void two_of_doubles(double *out, double x, double y, double w) {
  out[0] = x / w;  // expect: invariant-divisors
  out[1] = y / w;
}
__global__ void two_of_floats(float *out, float x, float y, float w) {
  out[0] = x / w;
  out[1] = y / w;
}

// One kernel per fix that lint --fix writes; each takes (out, in), one thread per element.
__global__ void suffix(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * 0.1 + 2.5;
}
__global__ void square(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  out[i] = powf(x, 2.0f);
}
__global__ void power_of_two(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  out[i] = powf(2.0f, x);
}
__global__ void power_of_ten(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  out[i] = powf(10.0f, x);
}
__global__ void inverse_root(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i];
  out[i] = 1.0f / sqrtf(x);
}
__global__ void double_square(double *out, const double *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i];
  out[i] = pow(x, 2.0);
}

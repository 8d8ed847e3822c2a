// Kernels whose registers matter in different ways; each takes (out, in, n), one thread per element.
#define NBODY 64
#define TILE 8

extern "C" __global__ void nbody(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], y = in[(i + 1) % n], force = 0;
  for (int j = 0; j < NBODY; ++j) {
    float dx = in[j] - x, dy = in[j + NBODY] - y;
    float r = rsqrtf(dx * dx + dy * dy + 1e-6f);
    force += dx * r * r * r;
  }
  out[i] = force;
}

template <typename T, int N> __global__ void fir(T *out, const T *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  T taps[N], sum = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) taps[k] = in[(i + k) & (n - 1)];
#pragma unroll
  for (int k = 0; k < N; ++k) sum += taps[k] * taps[N - 1 - k];
  out[i] = sum;
}

extern "C" __global__ void gather(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) sum += in[(i * 17 + k * 4099) & (n - 1)];
  out[i] = sum;
}

extern "C" __global__ void median(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[25];
#pragma unroll
  for (int k = 0; k < 25; ++k) v[k] = in[(i + k * 64) & (n - 1)];
#pragma unroll
  for (int a = 0; a < 13; ++a)
#pragma unroll
    for (int b = a + 1; b < 25; ++b) {
      float low = fminf(v[a], v[b]), high = fmaxf(v[a], v[b]);
      v[a] = low;
      v[b] = high;
    }
  out[i] = v[12];
}

extern "C" __global__ void sgemm(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float c[TILE][TILE] = {};
  for (int k = 0; k < 64; ++k) {
    float a[TILE], b[TILE];
#pragma unroll
    for (int t = 0; t < TILE; ++t) {
      a[t] = in[(i + k * TILE + t) & (n - 1)];
      b[t] = in[(k * TILE + t) & (n - 1)];
    }
#pragma unroll
    for (int y = 0; y < TILE; ++y)
#pragma unroll
      for (int x = 0; x < TILE; ++x) c[y][x] += a[y] * b[x];
  }
  float sum = 0;
#pragma unroll
  for (int y = 0; y < TILE; ++y)
#pragma unroll
    for (int x = 0; x < TILE; ++x) sum += c[y][x] * (x - y);
  out[i] = sum;
}

extern "C" __global__ void triad(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 3.0f + out[i];
}

extern "C" __global__ void chain(double *out, const double *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v[24], sum = 0;
#pragma unroll
  for (int k = 0; k < 24; ++k) v[k] = in[(i + k) & (n - 1)];
  for (int round = 0; round < 8; ++round)
#pragma unroll
    for (int k = 0; k < 24; ++k) v[k] = v[k] * v[(k + 1) % 24] + 1.0;
#pragma unroll
  for (int k = 0; k < 24; ++k) sum += v[k];
  out[i] = sum;
}

extern "C" __global__ void __launch_bounds__(512) bounded(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[40], sum = 0;
#pragma unroll
  for (int k = 0; k < 40; ++k) v[k] = in[(i + k * 32) & (n - 1)];
#pragma unroll
  for (int k = 0; k < 40; ++k) sum += v[k] * v[39 - k];
  out[i] = sum;
}

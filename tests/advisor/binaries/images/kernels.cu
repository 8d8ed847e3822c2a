// Kernels whose resources differ in every way that a binary can record.
#include <cstdio>

extern __shared__ float dynamic[];
__constant__ float table[300];

__global__ void plain(float *a) { a[threadIdx.x] *= table[threadIdx.x]; }

__global__ void __launch_bounds__(256, 4) bounded(float *a, int n) {
  __shared__ float s[100];
  s[threadIdx.x % 100] = a[n];
  __syncthreads();
  a[threadIdx.x] = s[n % 100];
}

__global__ void dynamic_only(float *a) {
  dynamic[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[0] = dynamic[1];
}

template <int N> __device__ __forceinline__ void chew(float *a, int n) {
  float v[N];
#pragma unroll
  for (int i = 0; i < N; i++) v[i] = a[i * n + threadIdx.x];
  for (int k = 0; k < n; k++) {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = v[i] * v[(i + 1) % N] + 1.f;
  }
#pragma unroll
  for (int i = 0; i < N; i++) a[i * n + threadIdx.x] = v[i];
}

__global__ void __launch_bounds__(1024, 2) spilling(float *a, int n) { chew<80>(a, n); }
__global__ void __launch_bounds__(1024, 1) spilling_less(float *a, int n) { chew<64>(a, n); }
__global__ void many_registers(float *a, int n) { chew<100>(a, n); }

__global__ void local_array(float *a, int n) {
  float v[60];
  for (int i = 0; i < 60; i++) v[i] = a[i];
  for (int k = 0; k < n; k++) v[(k * 7) % 60] += v[k % 60];
  a[0] = v[n % 60];
}

__global__ void __launch_bounds__(1024, 2) spills_and_array(double *a, int n) {
  double w[24];
  for (int i = 0; i < 24; i++) w[i] = a[i];
  double v[40];
#pragma unroll
  for (int i = 0; i < 40; i++) v[i] = a[i * n + threadIdx.x];
  for (int k = 0; k < n; k++) {
    w[(k * 5) % 24] += v[k % 2] * w[k % 24];
#pragma unroll
    for (int i = 0; i < 40; i++) v[i] = v[i] * v[(i + 1) % 40] + 1.;
  }
#pragma unroll
  for (int i = 0; i < 40; i++) a[i * n + threadIdx.x] = v[i] + w[i % 24];
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) * fibonacci(n - 2) + 1;
}
__global__ void recursive(int *a) { a[0] = fibonacci(a[0]); }

template <int N> __global__ void sized(double *a) {
  __shared__ double s[N];
  s[threadIdx.x] = a[0];
  __syncthreads();
  a[1] = s[threadIdx.x ^ 1];
}
template __global__ void sized<64>(double *);
template __global__ void sized<512>(double *);

__global__ void printing(int a) { printf("%d\n", a); }

__global__ void barriers(float *a) {
  __shared__ float s[32];
  asm volatile("bar.sync 3, 64;");
  s[threadIdx.x] = a[0];
  asm volatile("bar.sync 5, 64;");
  a[1] = s[3];
}

struct Large { double values[200]; };
__global__ void large_parameter(Large l, double *a) { a[threadIdx.x] = l.values[threadIdx.x]; }

#ifdef MAIN
int main() { plain<<<1, 32>>>(nullptr); }
#endif

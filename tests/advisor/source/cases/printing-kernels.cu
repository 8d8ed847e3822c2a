// Kernels that print.
#include <cstdio>
__global__ void each(float *x) {
  x[threadIdx.x] *= 2;
  printf("%f\n", x[threadIdx.x]);  // expect: printing-kernels
}
__global__ void behind_the_check(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] *= 2;
  printf("%d\n", i);  // expect: printing-kernels
}
__global__ void in_the_check(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] *= 2;
    printf("%d\n", i);  // expect: printing-kernels
  }
}
__global__ void in_a_loop(float *x, int n) {
  for (int k = 0; k < n; ++k) {
    x[k] *= 2;
    printf("%d\n", k);  // expect: printing-kernels
  }
}
template <typename T> __global__ void twice(T *x) {
  x[threadIdx.x] *= 2;
  printf("first\n");  // expect: printing-kernels
  printf("second\n");
}
__global__ void at_the_start(double *x, int n) {
  printf("begin\n");  // expect: printing-kernels
  x[threadIdx.x] = n;
}
__global__ void one_thread(float *x) {
  x[threadIdx.x] *= 2;
  if (threadIdx.x == 0) printf("%f\n", x[0]);
}
__global__ void first_of_all(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2;
  if (i == 0) printf("%f\n", x[0]);
}
__global__ void what_is_wrong(float *x) {
  x[threadIdx.x] *= 2;
  if (isnan(x[threadIdx.x])) printf("not a number\n");
}
__global__ void while_debugging(float *x) {
  x[threadIdx.x] *= 2;
#ifdef DEBUG
  printf("%f\n", x[threadIdx.x]);
#endif
}
__global__ void hello() { printf("hello from %d\n", threadIdx.x); }
__global__ void hello_of(int n) { printf("hello %d from %d\n", n, threadIdx.x); }
__global__ void shows_only(const float *x) { printf("%f\n", x[threadIdx.x]); }
__global__ void quiet(float *x) { x[threadIdx.x] *= 2; }
__global__ void in_a_comment(float *x) { x[threadIdx.x] *= 2; /* printf("%f") */ }
void on_the_host(float *x) {
  x[0] = 1;
  printf("%f\n", x[0]);
}
__global__ void every_hundredth(float *x, int step) {
  x[threadIdx.x] *= step;
  if (threadIdx.x % 100 == 0) printf("%d\n", step);
}
__global__ void in_a_case(float *x, int order) {
  switch (x[threadIdx.x] > 0 ? order : 0) {
    case 2: x[threadIdx.x] *= 2; break;
    default: printf("no such order\n");
  }
}

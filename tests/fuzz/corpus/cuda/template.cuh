template <int N, typename T> __global__ void f(T *p) { p[N * threadIdx.x] = T(1) / N; }
#ifdef A
#define B 1
#else
#define B 2
#endif
template __global__ void f<B>(float *);

// Checks of runtime calls, in the ways that projects spell them.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#define CUDA_TRY(call)                                                              \
  do {                                                                              \
    cudaError_t status = (call);                                                    \
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status)); \
  } while (0)
__global__ void kernel(float *a) { a[0] = 1; }
inline void check(cudaError_t status, const char *what) {
  if (status != cudaSuccess) std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
}
template <typename T> T *allocated(size_t count) {
  T *p = nullptr;
  CUDA_TRY(cudaMalloc(&p, count * sizeof(T)));
  return p;
}
struct Buffer {
  float *data = nullptr;
  explicit Buffer(size_t n) { CUDA_TRY(cudaMalloc(&data, n)); }
  ~Buffer() { cudaFree(data); }
};
void by_function(float *d, const float *h, size_t bytes) {
  check(cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice), "copy");
}
void by_condition(float *d, size_t bytes) {
  if (cudaMemset(d, 0, bytes) != cudaSuccess) std::abort();
}
bool by_result(float *d, size_t bytes) { return cudaMemset(d, 0, bytes) == cudaSuccess; }
void collected(float *d, float *h, size_t bytes) {
  cudaError_t status = cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);
  status = status == cudaSuccess ? cudaDeviceSynchronize() : status;
  check(status, "both");
}
void one_of_three_forgotten(float *d, float *h, size_t bytes) {
  CUDA_TRY(cudaMemset(d, 0, bytes));
  cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);  // expect: unchecked-errors
  CUDA_TRY(cudaDeviceSynchronize());
}
void stream_made_and_forgotten(cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) cudaStreamCreate(&s[i]);  // expect: unchecked-errors
}
class Solver {
 public:
  void upload(const float *h, size_t bytes);
  float *data = nullptr;
};
void Solver::upload(const float *h, size_t bytes) {
  cudaMemcpy(data, h, bytes, cudaMemcpyHostToDevice);  // expect: unchecked-errors
}
void waited_without_a_look(cudaStream_t s) {
  cudaStreamSynchronize(s);  // expect: unchecked-errors
}
template <typename T> void filled(T *d, size_t n) {
  if (n == 0) return;
  cudaMemset(d, 0, n * sizeof(T));  // expect: unchecked-errors
}
void device_of_the_rank(int rank) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  cudaSetDevice(rank % devices);  // expect: unchecked-errors
}
void symbol(const float *h) {
#ifdef USE_SYMBOL
  cudaMemcpy(nullptr, h, 4, cudaMemcpyDefault);  // expect: unchecked-errors
#endif
}
void kept_and_looked_at(float **d, size_t bytes) {
  const auto status = cudaMalloc(d, bytes);
  if (status) std::exit(EXIT_FAILURE);
}

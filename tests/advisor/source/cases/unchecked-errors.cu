// Dropped results and unchecked launches, one of each kind per function; a dashed line starts another file.
__global__ void kernel(float *a) { a[0] = 1; }
int main() {
  float *a;
  cudaMalloc(&a, 4);  // expect: unchecked-errors
  cudaMemset(a, 0, 4);
  kernel<<<1, 32>>>(a);  // expect: unchecked-errors
  cudaFree(a);
}
//---
#define CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
__global__ void kernel(float *a) { a[0] = 1; }
int main() {
  float *a;
  CHECK(cudaMalloc(&a, 4));
  kernel<<<1, 32>>>(a);
  CHECK(cudaGetLastError());
  CHECK(cudaFree(a));
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
static void run(float *a) {
  kernel<<<1, 32>>>(a);
}
int main() {
  run(nullptr);
  checkCudaErrors(cudaGetLastError());
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
static void run(float *a) {
  kernel<<<1, 32>>>(a);  // expect: unchecked-errors
}
int main() { run(nullptr); }
//---
__global__ void kernel(float *a) { a[0] = 1; }
void in_a_file_that_asks_nowhere(float *a, cudaStream_t s) {
  // cudaGetLastError() is only spoken of
  kernel<<<1, 32, 0, s>>>(a);  // expect: unchecked-errors
}
void later_in_that_file(float *a, cudaStream_t s) {
  kernel<<<1, 32, 0, s>>>(a);
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void library_wrapper(float *a, cudaStream_t s) {
  kernel<<<1, 32, 0, s>>>(a);
}
int asked_by(float *a) {
  library_wrapper(a, 0);
  return cudaGetLastError();
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void checks_others(float *a, float *b, cudaStream_t s) {
  kernel<<<1, 32, 0, s>>>(a);  // expect: unchecked-errors
  CUDA_CHECK(cudaMemcpyAsync(b, a, 4, cudaMemcpyDeviceToHost, s));
}
//---
cudaError_t returned(float **a) {
  cudaError_t e = cudaMalloc(a, 4);
  if (e != cudaSuccess) return e;
  return cudaMemset(*a, 0, 4);
}
void meant(float *a) {
  (void)cudaMemset(a, 0, 4);
  cudaFree(a);
  cudaGetLastError();
}
void asked_later(float **a) {
  cudaMalloc(a, 4);
  if (cudaGetLastError() != cudaSuccess) abort();
}
void end_of_life(cudaStream_t s, cudaEvent_t e) {
  cudaStreamDestroy(s);
  cudaEventDestroy(e);
  cudaDeviceReset();
}
void wrapped(float *a) {
  cudaCheck(cudaMemset(a, 0, 4));
  cudaErrCheck(cudaDeviceSynchronize());
}
void dropped_in_lambda(float *a) {
  auto go = [=] { cudaMemset(a, 0, 4); };  // expect: unchecked-errors
  go();
}
void methods(Runtime &r) { r.cudaMalloc(4); }
void events(cudaEvent_t e) {
  if (e) cudaEventRecord(e, 0);  // expect: unchecked-errors
}
//---
template <typename K> void launched_by_macro(K k, float *a) {
  LAUNCH(k<<<1, 32>>>(a));
}
void captured(cudaStream_t s, cudaGraph_t *g) {
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  kernel<<<1, 32, 0, s>>>(nullptr);
  CHECK(cudaStreamEndCapture(s, g));
}
void torch_style(float *a, cudaStream_t s) {
  kernel<<<1, 32, 0, s>>>(a);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
void first_device() { cudaSetDevice(0); }
void some_device(int device) {
  cudaSetDevice(device);  // expect: unchecked-errors
}
void explained(int device) {
  // Errors do not matter here: the machine may have no GPU.
  cudaSetDevice(device);
}
__global__ void nothing() {}
void compiles() { nothing<<<1, 1>>>(); }
void asks_by_macro(float *a) {
  cudaMemset(a, 0, 4);
  CHECK_CUDA_STATE();
}
void compares(float *a, float *b) {
  cudaMemset(a, 0, 4);  // expect: unchecked-errors
  check_result(a, b);
}

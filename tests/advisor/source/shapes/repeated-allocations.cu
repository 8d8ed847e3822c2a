// Buffers of loops.
#include <vector>
__global__ void kernel(float *a) { a[0] = 1; }
void per_batch(const std::vector<float> &host, int batches, size_t bytes) {
  for (int b = 0; b < batches; ++b) {
    float *d = nullptr;
    cudaMalloc(&d, bytes);  // expect: repeated-allocations
    cudaMemcpy(d, host.data(), bytes, cudaMemcpyHostToDevice);
    kernel<<<64, 256>>>(d);
    cudaFree(d);
  }
}
void grown_when_needed(float **d, size_t *capacity, const std::vector<size_t> &sizes) {
  for (size_t bytes : sizes) {
    if (bytes <= *capacity) continue;
    float *larger = nullptr;
    cudaMalloc(&larger, bytes);
    cudaFree(*d);
    *d = larger;
    *capacity = bytes;
  }
}
void one_per_device(std::vector<float *> &d, size_t bytes) {
  for (size_t g = 0; g < d.size(); ++g) {
    cudaSetDevice(g);
    cudaMalloc(&d[g], bytes);
  }
}
template <typename T> void scratch_per_step(T *state, int steps, size_t bytes) {
  for (int step = 0; step < steps; ++step) {
    T *scratch;
    cudaMalloc(reinterpret_cast<void **>(&scratch), bytes);  // expect: repeated-allocations
    kernel<<<64, 256>>>(reinterpret_cast<float *>(scratch));
    cudaMemcpy(state, scratch, bytes, cudaMemcpyDeviceToDevice);
    cudaFree(scratch);
  }
}
void pinned_per_message(int messages, size_t bytes) {
  for (int m = 0; m < messages; ++m) {
    void *h = nullptr;
    if (cudaHostAlloc(&h, bytes, cudaHostAllocDefault) != cudaSuccess) break;  // expect: repeated-allocations
    cudaFreeHost(h);
  }
}

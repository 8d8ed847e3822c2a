// Copies among streams, as pipelines write them.
#include <vector>
__global__ void kernel(float *a) { a[0] = 1; }
void result_of_each_chunk(float *d, float *h, cudaStream_t *s, int chunks, size_t bytes) {
  for (int c = 0; c < chunks; ++c) {
    kernel<<<64, 256, 0, s[c % 2]>>>(d);
    cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);  // expect: blocking-copies
  }
}
void result_after_the_pipeline(float *d, float *h, cudaStream_t *s, int chunks, size_t bytes) {
  for (int c = 0; c < chunks; ++c) kernel<<<64, 256, 0, s[c % 2]>>>(d);
  for (int c = 0; c < 2; ++c) cudaStreamSynchronize(s[c]);
  cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost);
}
void per_device(float **d, float **h, int devices, size_t bytes) {
  for (int g = 0; g < devices; ++g) {
    cudaSetDevice(g);
    kernel<<<64, 256>>>(d[g]);
    cudaMemcpy(h[g], d[g], bytes, cudaMemcpyDeviceToHost);
  }
}
void set_up_of_streams(std::vector<cudaStream_t> &streams, float *d, size_t bytes) {
  for (size_t i = 0; i < streams.size(); ++i) {
    cudaStreamCreate(&streams[i]);
    cudaMemset(d, 0, bytes);
  }
}

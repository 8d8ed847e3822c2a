// Launches without a stream among others.
#include <vector>
__global__ void kernel(float *a) { a[0] = 1; }
__global__ void reduce(float *a) { a[0] = 2; }
void forgotten_stream(std::vector<cudaStream_t> &streams, float *d) {
  for (size_t i = 0; i < streams.size(); ++i) {
    kernel<<<64, 256, 0, streams[i]>>>(d);
    reduce<<<1, 256>>>(d);  // expect: default-stream-work
  }
}
void shared_bytes_but_no_stream(cudaStream_t *s, float *d, float *h, size_t bytes) {
  for (int i = 0; i < 8; ++i) {
    cudaMemcpyAsync(d, h, bytes, cudaMemcpyHostToDevice, s[i]);
    kernel<<<64, 256, 256 * sizeof(float)>>>(d);  // expect: default-stream-work
  }
}
void one_stream_of_a_class(cudaStream_t stream, float *d, int n) {
  for (int i = 0; i < n; ++i) {
    kernel<<<64, 256, 0, stream>>>(d);
    reduce<<<1, 256, 0, stream>>>(d);
  }
}
void warm_up(cudaStream_t *s, float *d) {
  for (int i = 0; i < 3; ++i) kernel<<<64, 256>>>(d);
  for (int i = 0; i < 8; ++i) kernel<<<64, 256, 0, s[i % 4]>>>(d);
}
void joined_at_the_end(cudaStream_t *s, float *d) {
  for (int i = 0; i < 8; ++i) kernel<<<64, 256, 0, s[i]>>>(d);
  reduce<<<1, 256>>>(d);
}

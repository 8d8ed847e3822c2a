// Events around work, as benchmarks write them.
__global__ void kernel(float *a) { a[0] = 1; }
void loop_in_one_stream(float *a, cudaStream_t s, cudaEvent_t b, cudaEvent_t e, int n) {
  float ms;
  cudaEventRecord(b, s);
  for (int i = 0; i < n; ++i) kernel<<<1, 256, 0, s>>>(a);
  cudaEventRecord(e, s);
  cudaEventSynchronize(e);
  cudaEventElapsedTime(&ms, b, e);
}
void without_streams(float *a, int n) {
  cudaEvent_t b, e;
  float ms;
  cudaEventCreate(&b);
  cudaEventCreate(&e);
  cudaEventRecord(b, 0);
  for (int i = 0; i < n; ++i) kernel<<<1, 256>>>(a);
  cudaEventRecord(e, 0);
  cudaEventSynchronize(e);
  cudaEventElapsedTime(&ms, b, e);
}
void whole_pipeline(float *a, float *h, cudaStream_t s, size_t bytes, cudaEvent_t b, cudaEvent_t e) {
  float ms;
  cudaEventRecord(b, s);
  cudaMemcpyAsync(a, h, bytes, cudaMemcpyHostToDevice, s);
  kernel<<<1, 256, 0, s>>>(a);
  cudaMemcpyAsync(h, a, bytes, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(e, s);
  cudaEventElapsedTime(&ms, b, e);
}
void joined_before_the_end(float *a, cudaStream_t s, cudaStream_t t, cudaEvent_t b, cudaEvent_t e) {
  float ms;
  cudaEventRecord(b, t);
  kernel<<<1, 256, 0, s>>>(a);
  cudaStreamSynchronize(s);
  cudaEventRecord(e, t);
  cudaEventElapsedTime(&ms, b, e);
}

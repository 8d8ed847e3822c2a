// Work in the default stream, and blocking copies, inside loops over several streams.
__global__ void kernel(float *a) { a[0] = 1; }
void launch_between(float *a, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    kernel<<<1, 32, 0, s[i]>>>(a);
    kernel<<<1, 32>>>(a);
  }
}
void copy_between(float *a, float *h, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, s[i]);
    kernel<<<1, 32, 0, s[i]>>>(a);
    cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost);  // expect: blocking-copies
  }
}
void all_in_streams(float *a, float *h, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, s[i]);
    kernel<<<1, 32, 0, s[i]>>>(a);
  }
}
void all_in_default(float *a, float *h) {
  for (int i = 0; i < 4; ++i) {
    cudaMemcpy(a, h, 4, cudaMemcpyHostToDevice);
    kernel<<<1, 32>>>(a);
  }
}
void copy_after(float *a, float *h, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) kernel<<<1, 32, 0, s[i]>>>(a);
  cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost);
  kernel<<<1, 32>>>(a);
}
void one_stream(float *a, cudaStream_t s) {
  while (more()) {
    kernel<<<1, 32, 0, s>>>(a);
    kernel<<<1, 32>>>(a);
    cudaMemset(a, 0, 4);
  }
}
void two_streams(float *a, float *h, cudaStream_t up, cudaStream_t down) {
  while (more()) {
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, up);
    cudaMemcpyAsync(h, a, 4, cudaMemcpyDeviceToHost, down);
    kernel<<<1, 32, 0, 0>>>(a);
    cudaMemset(a, 0, 4);  // expect: blocking-copies
  }
}
void by_null(float *a, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    kernel<<<1, 32, 0, s[i]>>>(a);
    cudaMemsetAsync(a, 0, 4, nullptr);
    cudaMemcpy(a, a, 4, cudaMemcpyDeviceToDevice);  // expect: blocking-copies
  }
}
void before_the_loop(float *a, float *h, cudaStream_t *s) {
  cudaMemcpy(a, h, 4, cudaMemcpyHostToDevice);
  kernel<<<1, 32>>>(a);
  for (int i = 0; i < 4; ++i) kernel<<<1, 32, 0, s[i]>>>(a);
}
void inner_loop(float *a, cudaStream_t *s, float *h) {
  for (int pass = 0; pass < 9; ++pass) {
    for (int i = 0; i < 4; ++i) kernel<<<1, 32, 0, s[i]>>>(a);
    for (int i = 0; i < 4; ++i) cudaStreamSynchronize(s[i]);
  }
}
void cleared_between(float *a, cudaStream_t *streams, int count) {
  int i = 0;
  do {
    kernel<<<1, 32, 0, streams[i]>>>(a);
    cudaMemset(a, 0, 4);  // expect: blocking-copies
  } while (++i < count);
}
void checked_copy(float *a, float *h, cudaStream_t compute, cudaStream_t copy) {
  for (;;) {
    kernel<<<1, 32, 0, compute>>>(a);
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, copy);
    CHECK(cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost));  // expect: blocking-copies
  }
}
template <typename T> void of_template(T *a, T *h, std::vector<cudaStream_t> &s) {
  for (size_t i = 0; i < s.size(); ++i) {
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, s[i]);
    cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost);  // expect: blocking-copies
  }
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void apart(float *a, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
    kernel<<<1, 32, 0, s[i]>>>(a);
    kernel<<<1, 32>>>(a);
    cudaMemcpy(a, a, 4, cudaMemcpyDeviceToDevice);
  }
}
__global__ void on_the_device(float *a) {
  for (int i = 0; i < 4; ++i) a[i] = 0;
}

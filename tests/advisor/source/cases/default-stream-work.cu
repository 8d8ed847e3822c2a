// Work in the default stream, and blocking copies, inside loops over several streams.
__global__ void kernel(float *a) { a[0] = 1; }
void launch_between(float *a, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    kernel<<<1, 32, 0, s[i]>>>(a);
    kernel<<<1, 32>>>(a);  // expect: default-stream-work
  }
}
void copy_between(float *a, float *h, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, s[i]);
    kernel<<<1, 32, 0, s[i]>>>(a);
    cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost);
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
    kernel<<<1, 32, 0, 0>>>(a);  // expect: default-stream-work
    cudaMemset(a, 0, 4);
  }
}
void by_null(float *a, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    kernel<<<1, 32, 0, s[i]>>>(a);
    cudaMemsetAsync(a, 0, 4, nullptr);  // expect: default-stream-work
    cudaMemcpy(a, a, 4, cudaMemcpyDeviceToDevice);
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
void always_the_first(float *a, float *h) {
  static cudaStream_t streams[2];
  for (int i = 0; i < 4; ++i) {
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, streams[0]);
    kernel<<<1, 32>>>(a);
  }
}
void alternating(float *a, float *h, cudaStream_t *s) {
  for (int i = 0; i < 4; ++i) {
    kernel<<<1, 32>>>(a);  // expect: default-stream-work
    cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, s[i % 2]);
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
//---
#include <torch/extension.h>
__global__ void scale(float *x) { x[threadIdx.x] *= 2; }
void of_a_tensor(torch::Tensor x) {
  scale<<<1, 32>>>(x.data_ptr<float>());  // expect: default-stream-work
  scale<<<1, 32>>>(x.data_ptr<float>());
}
void dispatched(torch::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.type(), "scale", ([&] {
    scale<<<1, 32>>>(x.data_ptr<float>());  // expect: default-stream-work
  }));
}
void in_its_stream(torch::Tensor x) {
  scale<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>());
}
void in_a_stream_of_its_own(torch::Tensor x, cudaStream_t s) { scale<<<1, 32, 0, s>>>(x.data_ptr<float>()); }

// Waits for the GPU in each iteration of a loop that launches kernels.
__global__ void step(float *x, int i) { x[threadIdx.x] += i; }
void launched(float *x, int i) { step<<<64, 256>>>(x, i); }
void in_each_step(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
  }
}
void of_a_stream(float *x, int n, cudaStream_t s) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256, 0, s>>>(x, i);
    cudaStreamSynchronize(s);  // expect: frequent-synchronization
  }
}
void checked(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());  // expect: frequent-synchronization
  }
}
void while_there_is_more(float *x, int n) {
  int i = 0;
  while (i < n) {
    step<<<64, 256>>>(x, i++);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
  }
}
void by_a_function(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    launched(x, i);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
  }
}
void with_a_copy_in(float *x, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpyAsync(x, h + i, 4, cudaMemcpyHostToDevice);
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
  }
}
void between_two(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    cudaThreadSynchronize();  // expect: frequent-synchronization
    step<<<64, 256>>>(x, -i);
  }
}
void once_after(float *x, int n) {
  for (int i = 0; i < n; ++i) step<<<64, 256>>>(x, i);
  cudaDeviceSynchronize();
}
void to_look_at_a_result(float *x, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    cudaMemcpyAsync(h, x, 4, cudaMemcpyDeviceToHost);
    cudaDeviceSynchronize();
    if (h[0] > 1) break;
  }
}
void by_a_helper(float *x, float *h, int n, cudaStream_t s) {
  do {
    step<<<64, 256>>>(x, n);
    update_host(h, x, 1, s);
    cudaStreamSynchronize(s);
  } while (h[0] > 0);
}
void on_each_device(float *x, int devices) {
  for (int i = 0; i < devices; ++i) {
    cudaSetDevice(i);
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();
  }
}
void now_and_then(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    if (i % 100 == 0) cudaDeviceSynchronize();
  }
}
void timed(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    auto start = std::chrono::high_resolution_clock::now();
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();
  }
}
void without_a_launch(int n) {
  for (int i = 0; i < n; ++i) cudaDeviceSynchronize();
}
void while_debugging(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
#ifdef DEBUG
    cudaDeviceSynchronize();
#endif
  }
}
void printed(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();
    print_results(x);
  }
}
void launches_inside(float *x, int n, int m) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) step<<<64, 256>>>(x, j);
  }
  cudaDeviceSynchronize();
}
void no_loop(float *x) {
  step<<<64, 256>>>(x, 1);
  cudaDeviceSynchronize();  // expect: frequent-synchronization
}
void waits_for_an_event(float *x, int n, cudaEvent_t e) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    cudaEventSynchronize(e);
  }
}
void fetched(float *x, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
    cudaMemcpy(h + i, x, 4, cudaMemcpyDeviceToHost);
  }
}
void waits_after_each_launch(float *x, int n) {
  step<<<n / 256, 256>>>(x);
  cudaDeviceSynchronize();  // expect: frequent-synchronization
  step<<<n / 256, 256>>>(x);
  CHECK(cudaStreamSynchronize(0));
  report("step");
}
void waits_once(float *x, int n) {
  step<<<n / 256, 256>>>(x);
  step<<<n / 256, 256>>>(x);
  cudaDeviceSynchronize();
}
void hands_results_to_the_host(float *x, float *host, int n) {
  step<<<n / 256, 256>>>(x);
  cudaDeviceSynchronize();  // expect: frequent-synchronization
  cudaMemcpy(host, x, n * 4, cudaMemcpyDeviceToHost);
  step<<<n / 256, 256>>>(x);
  cudaDeviceSynchronize();
}
void waits_when_debugging(float *x, int n) {
  step<<<n / 256, 256>>>(x);
#ifdef DEBUG
  cudaDeviceSynchronize();
#endif
  step<<<n / 256, 256>>>(x);
#ifdef DEBUG
  cudaDeviceSynchronize();
#endif
}
//---
__global__ void step(float *x) { x[threadIdx.x] += 1; }
struct Matrix { float *getDev(); };
struct Layer { Matrix *in; void forward(); };
void waits_in_each_call(float *x, int n) {
  step<<<n, 256>>>(x);
  cudaDeviceSynchronize();  // expect: frequent-synchronization
}
void Layer::forward() {
  step<<<4, 256>>>(in->getDev());
  cudaStreamSynchronize(0);  // expect: frequent-synchronization
}
void copies_as_well(float *x, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<n, 256>>>(x);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
    float first = 0;
    step<<<n, 256>>>(x);
    cudaDeviceSynchronize();
    cudaMemcpy(h, x, 4, cudaMemcpyDeviceToHost);
  }
}
void timed_from_outside(float *x, float *h, int n) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) {
    step<<<n, 256>>>(x);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
    step<<<n, 256>>>(x);
    cudaDeviceSynchronize();
    cudaMemcpy(h, x, 4, cudaMemcpyDeviceToHost);
  }
  print(std::chrono::steady_clock::now() - start);
}
void measured(float *x, int n) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) {
    step<<<n, 256>>>(x);
    cudaDeviceSynchronize();
  }
  print(std::chrono::steady_clock::now() - start);
}
void in_streams(float *x, float *h, int n, cudaStream_t a, cudaStream_t b) {
  for (int i = 0; i < n; ++i) {
    step<<<n, 256, 0, a>>>(x);
    cudaDeviceSynchronize();
    step<<<n, 256, 0, b>>>(x);
    cudaDeviceSynchronize();
    cudaMemcpy(h, x, 4, cudaMemcpyDeviceToHost);
  }
}
void looked_at(float *x, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<n, 256>>>(x);
    cudaDeviceSynchronize();
    h[i] = x[0];
    step<<<n, 256>>>(x);
    cudaDeviceSynchronize();
    printf("%f", x[0]);
  }
}
void called_once(float *x, int n) {
  step<<<n, 256>>>(x);
  cudaDeviceSynchronize();
}
int main() { called_once(nullptr, 4); }
void init_all(float *x, int n) {
  step<<<n, 256>>>(x);
  cudaDeviceSynchronize();
}
void with_memory_of_its_own(float *h, int n) {
  float *x;
  cudaMalloc(&x, n);
  step<<<n, 256>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}

void Solver::collide() {
  collide_kernel<<<blocks_, 256>>>(current_, next_, omega_);
  cudaDeviceSynchronize();  // expect: frequent-synchronization
  std::swap(current_, next_);
}
void Solver::report() {
  sums_kernel<<<blocks_, 256>>>(current_, sums_);
  cudaDeviceSynchronize();  // expect: frequent-synchronization
  cudaMemcpy(host_, sums_, 4, cudaMemcpyDeviceToHost);
}
//---
// What the host waits for beside results: buffers that it refills, other streams, times.
__global__ void step(float *x, int i) { x[threadIdx.x] += i; }
__global__ void field_step(Field now, Field then) { now.at(threadIdx.x) = then.at(threadIdx.x); }
__constant__ float angles[8];
void refills_what_is_copied(float *x, float *pinned, int n, cudaStream_t s) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < 8; ++j) pinned[j] = i * j;
    cudaMemcpyToSymbolAsync(angles, pinned, 32, 0, cudaMemcpyHostToDevice, s);
    cudaStreamSynchronize(s);
    step<<<64, 256, 0, s>>>(x, i);
  }
}
void refills_by_a_function(float *x, float *d, float *pinned, int n) {
  for (int i = 0; i < n; ++i) {
    fill(pinned, i);
    cudaMemcpyAsync(d, pinned, 32, cudaMemcpyHostToDevice);
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();
  }
}
void refills_pageable_memory(float *x, float *d, int n) {
  float host[8];
  for (int i = 0; i < n; ++i) {
    host[0] = i;
    cudaMemcpyAsync(d, host, 32, cudaMemcpyHostToDevice);
    step<<<64, 256>>>(x, i);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
  }
}
void one_stream_for_another(float *x, int n, cudaStream_t *s) {
  for (int i = 0; i < n; ++i) {
    upload_texture(s, i);
    cudaStreamSynchronize(s[1]);
    step<<<64, 256, 0, s[0]>>>(x, i);
  }
}
void two_streams(float *x, float *y, int n, cudaStream_t s, cudaStream_t t) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256, 0, s>>>(x, i);
    cudaDeviceSynchronize();
    step<<<64, 256, 0, t>>>(y, i);
  }
}
void tells_between(float *x, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    std::cout << "step " << i << std::endl;
    step<<<64, 256>>>(x, i);
    CHECK(cudaDeviceSynchronize());  // expect: frequent-synchronization
    std::cout << "back" << std::endl;
    step<<<64, 256>>>(x, -i);
    printf("and forth\n");
    CHECK(cudaDeviceSynchronize());
    cudaMemcpy(h, x, 4, cudaMemcpyDeviceToHost);
  }
}
void before_a_copy(float *x, float *h, int n) {
  step<<<64, 256>>>(x, n);
  cudaError_t status = cudaDeviceSynchronize();  // expect: frequent-synchronization
  if (status != cudaSuccess) return;
  float *other = (float *)malloc(n);
  cudaMemcpy2D(h, 4, x, 8, 4, n, cudaMemcpyDeviceToHost);
}
void before_a_copy_of_another_stream(float *x, float *h, int n, cudaStream_t s) {
  step<<<64, 256, 0, s>>>(x, n);
  cudaStreamSynchronize(s);
  cudaMemcpy(h, x, n, cudaMemcpyDeviceToHost);
}
void before_an_asynchronous_copy(float *x, float *h, int n) {
  step<<<64, 256>>>(x, n);
  cudaDeviceSynchronize();
  cudaMemcpyAsync(h, x, n, cudaMemcpyDeviceToHost);
}
float with_how_long(Body &body, int n) {
  float time;
  cudaEventRecord(body.start);
  step<<<64, 256>>>(body.x, n);
  cudaEventRecord(body.stop);
  cudaEventSynchronize(body.stop);  // expect: frequent-synchronization
  cudaEventElapsedTime(&time, body.start, body.stop);
  return time;
}
float by_a_class(float *x, int n) {
  CudaEvent start, end;
  start.record();
  step << <64, 256 >> > (x, n);
  end.record();
  end.synchronize();  // expect: frequent-synchronization
  return CudaEvent::elapsed(start, end);
}
float time_of_a_step(float *x, int n) {
  CudaEvent start, end;
  start.record();
  step<<<64, 256>>>(x, n);
  end.record();
  end.synchronize();
  return CudaEvent::elapsed(start, end);
}
float of_many(float *x, int n) {
  CudaEvent start, end;
  for (int i = 0; i < n; ++i) step<<<64, 256>>>(x, i);
  end.synchronize();
  return CudaEvent::elapsed(start, end);
}
float on_demand(float *x, int n, bool timed) {
  CudaEvent start, end;
  step<<<64, 256>>>(x, n);
  if (timed) end.synchronize();
  return timed ? CudaEvent::elapsed(start, end) : 0;
}
void of_objects(Field now, Field then) {
  field_step<<<64, 256>>>(now, then);
  cudaError_t error = cudaDeviceSynchronize();  // expect: frequent-synchronization
}
void with_spread_brackets(float *x, int n) {
  for (int i = 0; i < n; ++i) {
    step << < 64, 256 >> > (x, i);
    cudaDeviceSynchronize();  // expect: frequent-synchronization
  }
}
float *field, *sources;
void of_pointers_of_the_file(int n) {
  step<<<64, 256>>>(field, n);
  cudaDeviceSynchronize();  // expect: frequent-synchronization
}
void init_field(int n) {
  step<<<64, 256>>>(field, n);
  cudaDeviceSynchronize();
}
void asks_before_it_waits(float *x, float *out, int n) {
  step<<<64, 256>>>(x, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());  // expect: frequent-synchronization
  CHECK(cudaMemcpy(out, x, n * 4, cudaMemcpyDeviceToHost));
}
void waits_between_launches(float *x, float *out, int n) {
  step<<<64, 256>>>(x, n);
  CHECK(cudaDeviceSynchronize());  // expect: frequent-synchronization
  step<<<64, 256>>>(x, n + 1);
  CHECK(cudaDeviceSynchronize());
  step<<<64, 256>>>(x, n + 2);
  CHECK(cudaMemcpy(out, x, n * 4, cudaMemcpyDeviceToHost));
}

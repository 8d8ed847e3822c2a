// Loops whose iterations copy in, launch, and copy out.
__global__ void work(float *x, int n) { x[threadIdx.x] += n; }
void launched(float *x, int n) { work<<<64, 256>>>(x, n); }
void pieces(float *d, float *h, int n, int size) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, h + i * size, size * 4, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, size);
    cudaMemcpy(h + i * size, d, size * 4, cudaMemcpyDeviceToHost);  // expect: serial-transfers
  }
}
void round_trips(float *d, float *h, int n) {
  while (n--) {
    cudaMemcpy(d, h, 4096, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);  // expect: serial-transfers
    changed(h);
  }
}
void with_a_wait(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    CHECK(cudaMemcpy(d, h, 4096, cudaMemcpyHostToDevice));
    work<<<64, 256>>>(d, 1);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost));  // expect: serial-transfers
  }
}
void by_a_function(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, h, 4096, cudaMemcpyHostToDevice);
    launched(d, i);
    cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);  // expect: serial-transfers
  }
}
void to_elements(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, &h[i * 64], 256, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(&h[i * 64], d, 256, cudaMemcpyDeviceToHost);  // expect: serial-transfers
  }
}
void of_vectors(float *d, std::vector<float> &h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, h.data(), 256, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(h.data(), d, 256, cudaMemcpyDeviceToHost);  // expect: serial-transfers
  }
}
void in_only(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, h + i, 4096, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, i);
  }
}
void out_only(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    work<<<64, 256>>>(d, i);
    cudaMemcpy(h + i, d, 4096, cudaMemcpyDeviceToHost);
  }
}
void around_the_loop(float *d, float *h, int n) {
  cudaMemcpy(d, h, 4096, cudaMemcpyHostToDevice);
  for (int i = 0; i < n; ++i) work<<<64, 256>>>(d, i);
  cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);
}
void of_a_flag(float *d, bool *flag, int n) {
  bool done = false;
  while (!done) {
    done = true;
    cudaMemcpy(flag, &done, 1, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, n);
    cudaMemcpy(&done, flag, 1, cudaMemcpyDeviceToHost);
  }
}
void in_streams(float *d, float *h, int n, cudaStream_t *s) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpyAsync(d + i, h + i, 4, cudaMemcpyHostToDevice, s[i]);
    work<<<64, 256, 0, s[i]>>>(d + i, 1);
    cudaMemcpyAsync(h + i, d + i, 4, cudaMemcpyDeviceToHost, s[i]);
  }
}
void no_launch(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, h, 4096, cudaMemcpyHostToDevice);
    cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);
  }
}
void measured(float *d, float *h, int n, cudaEvent_t e) {
  for (int i = 0; i < n; ++i) {
    cudaEventRecord(e);
    cudaMemcpy(d, h, 4096, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);
  }
}
void no_loop(float *d, float *h) {
  cudaMemcpy(d, h, 4096, cudaMemcpyHostToDevice);
  work<<<64, 256>>>(d, 1);
  cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);
}
void on_the_device(float *d, float *e, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, e, 4096, cudaMemcpyDeviceToDevice);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(e, d, 4096, cudaMemcpyDeviceToDevice);
  }
}
void inner_loop_copies(float *d, float *h, int n, int m) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) cudaMemcpy(d + j, h + j, 4, cudaMemcpyHostToDevice);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);
  }
}
void unknown_direction(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(d, h, 4096, cudaMemcpyDefault);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(h, d, 4096, cudaMemcpyDefault);
  }
}
void to_a_symbol(float *d, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpyToSymbol(table, h, 64);
    work<<<64, 256>>>(d, 1);
    cudaMemcpy(h, d, 4096, cudaMemcpyDeviceToHost);
  }
}
//---
// Copies of some iterations, and those that go one way.
__global__ void step(float *x) { x[threadIdx.x] += 1; }
void in_the_last_iteration(float *x, float *h, int frames, int bytes) {
  for (int i = 0; i < frames; ++i) {
    cudaMemcpy(x, h, bytes, cudaMemcpyHostToDevice);
    step<<<64, 256>>>(x);
    if (i == frames - 1) cudaMemcpy(h, x, bytes, cudaMemcpyDeviceToHost);
  }
}
void every_tenth(float *x, float *h, int steps, int bytes) {
  for (int i = 0; i < steps; ++i) {
    step<<<64, 256>>>(x);
    if (i % 10 == 0) cudaMemcpy(h, x, bytes, cudaMemcpyDeviceToHost);
  }
}
void every_step(float *x, float *h, int steps, int n) {
  for (int i = 0; i < steps; ++i) {
    step<<<64, 256>>>(x);
    CHECK(cudaMemcpy(h, x, n * sizeof(float), cudaMemcpyDeviceToHost));  // expect: serial-transfers
    write(h, n);
  }
}
void one_element(float *x, float *h, int steps) {
  for (int i = 0; i < steps; ++i) {
    step<<<64, 256>>>(x);
    cudaMemcpy(h, x, sizeof(float), cudaMemcpyDeviceToHost);
  }
}
void asynchronously(float *x, float *h, int steps, int n, cudaStream_t s) {
  for (int i = 0; i < steps; ++i) {
    step<<<64, 256>>>(x);
    cudaMemcpyAsync(h, x, n, cudaMemcpyDeviceToHost, s);
  }
}

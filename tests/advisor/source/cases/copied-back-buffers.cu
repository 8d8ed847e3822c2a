// A copy within the device, in a loop, of a buffer that kernels fill anew to one that they read.
__global__ void smooth(float *next, const float *now, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) next[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
}
__global__ void in_place(float *x, const float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] + y[i];
}
__global__ void add_up(float *sums, const float *x, const int *group, const float *old, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[group[i]], x[i] - old[group[i]]);
}
__global__ void unknown(float *x);
struct Grid { float *now, *next; };
void plain(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToDevice);  // expect: copied-back-buffers
  }
}
void asynchronous(float *now, float *next, int n, cudaStream_t s) {
  while (n-- > 0) {
    smooth<<<n / 256, 256, 0, s>>>(next, now, n);
    cudaMemcpyAsync(now, next, n * 4, cudaMemcpyDeviceToDevice, s);  // expect: copied-back-buffers
  }
}
void of_members(Grid g, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(g.next, g.now, n);
    cudaMemcpy(g.now, g.next, n * 4, cudaMemcpyDeviceToDevice);  // expect: copied-back-buffers
  }
}
void under_a_condition(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    if (i < 99) cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToDevice);  // expect: copied-back-buffers
  }
}
void checked(float *now, float *next, int n) {
  do {
    smooth<<<n / 256, 256>>>(next, now, n);
    if (cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToDevice) != cudaSuccess) return;  // expect: copied-back-buffers
  } while (--n);
}
void cleared(float *old, float *sums, float *x, int *group, int n) {
  for (int i = 0; i < 100; ++i) {
    cudaMemset(sums, 0, 40);
    add_up<<<n / 256, 256>>>(sums, x, group, old, n);
    cudaMemcpy(old, sums, 40, cudaMemcpyDeviceToDevice);  // expect: copied-back-buffers
  }
}
void once(float *now, float *next, int n) {
  smooth<<<n / 256, 256>>>(next, now, n);
  cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToDevice);
}
void kept_for_comparison(float *x, float *before, float *y, int n) {
  for (int i = 0; i < 100; ++i) {
    cudaMemcpy(before, x, n * 4, cudaMemcpyDeviceToDevice);
    in_place<<<n / 256, 256>>>(x, y, n);
  }
}
void read_as_well(float *x, float *y, int n) {
  for (int i = 0; i < 100; ++i) {
    in_place<<<n / 256, 256>>>(x, y, n);
    cudaMemcpy(y, x, n * 4, cudaMemcpyDeviceToDevice);
  }
}
void sums_without_clearing(float *old, float *sums, float *x, int *group, int n) {
  for (int i = 0; i < 100; ++i) {
    add_up<<<n / 256, 256>>>(sums, x, group, old, n);
    cudaMemcpy(old, sums, 40, cudaMemcpyDeviceToDevice);
  }
}
void a_row(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    cudaMemcpy(now + i * n, next, n * 4, cudaMemcpyDeviceToDevice);
  }
}
void to_the_host(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToHost);
  }
}
void by_default(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    cudaMemcpy(now, next, n * 4, cudaMemcpyDefault);
  }
}
void of_an_unknown_kernel(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    elsewhere<<<n / 256, 256>>>(next, now, n);
    cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToDevice);
  }
}
void kept_in_a_history(float *history, float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    cudaMemcpy(history, next, n * 4, cudaMemcpyDeviceToDevice);
  }
}
void exchanged(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    std::swap(now, next);
  }
}
void prepared(float *now, float *next, int n) {
  cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToDevice);
  for (int i = 0; i < 100; ++i) smooth<<<n / 256, 256>>>(next, now, n);
}
void of_kernels_without_a_body(float *now, float *next, int n) {
  for (int i = 0; i < 100; ++i) {
    unknown<<<n / 256, 256>>>(next);
    cudaMemcpy(now, next, n * 4, cudaMemcpyDeviceToDevice);
  }
}
//---
// Copies that only serve one reader, and those that each call makes.
__global__ void smooth(double *const next, const double *const now, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) next[i] = (helped(now, i - 1) + now[i] + now[i + 1]) / 3;
}
__global__ void scale(double *x, double by) { x[threadIdx.x] *= by; }
__global__ void sum(const double *x, double *parts) { parts[blockIdx.x] = x[threadIdx.x]; }
__global__ void sum_in_place(double *x, double *parts) { x[0] += x[threadIdx.x]; parts[0] = x[0]; }
void only_to_add_up(double **x, double **now, double **copy, double *parts, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(x[0], now[0], n);
    cudaMemcpyAsync(copy[0], x[0] + 8, n * 8, cudaMemcpyDeviceToDevice);  // expect: copied-back-buffers
    sum<<<n / 256, 256>>>(copy[0], parts);
    sum<<<1, 256>>>(parts, copy[0]);
    scale<<<n / 256, 256>>>(x[0], 2);
  }
}
void because_the_sum_destroys_it(double *x, double *now, double *copy, double *parts, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(x, now, n);
    cudaMemcpy(copy, x, n * 8, cudaMemcpyDeviceToDevice);
    sum_in_place<<<n / 256, 256>>>(copy, parts);
    scale<<<n / 256, 256>>>(x, 2);
  }
}
void because_it_changes(double *x, double *now, double *copy, double *parts, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(x, now, n);
    cudaMemcpy(copy, x, n * 8, cudaMemcpyDeviceToDevice);
    scale<<<n / 256, 256>>>(x, 2);
    sum<<<n / 256, 256>>>(copy, parts);
    sum<<<1, 256>>>(parts, copy);
  }
}
void looked_at_again(double *x, double *now, double *copy, double *parts, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(x, now, n);
    cudaMemcpy(copy, x, n * 8, cudaMemcpyDeviceToDevice);
    sum<<<n / 256, 256>>>(copy, parts);
    scale<<<n / 256, 256>>>(x, 2);
  }
}
void Field::advance(int n) {
  cudaMemcpy(old_, now_, n * 8, cudaMemcpyDeviceToDevice);  // expect: copied-back-buffers
  smooth<<<n / 256, 256>>>(now_, old_, n);
}
void Field::advance_in_place(int n) {
  cudaMemcpy(old_, now_, n * 8, cudaMemcpyDeviceToDevice);
  scale<<<n / 256, 256>>>(now_, 2);
}
void Field::iterate(int n) {
  cudaMemcpy(old_, now_, n * 8, cudaMemcpyDeviceToDevice);
  for (int i = 0; i < n; ++i) smooth<<<n / 256, 256>>>(now_, old_, n);
}
void scaled_behind_the_copy(double *now, double *next, int n) {
  for (int i = 0; i < 100; ++i) {
    smooth<<<n / 256, 256>>>(next, now, n);
    cudaMemcpy(now, next, n * 8, cudaMemcpyDeviceToDevice);
    scale<<<n / 256, 256>>>(next, 2);
    use(next);
  }
}

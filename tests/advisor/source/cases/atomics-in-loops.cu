// Atomics that a loop repeats.
__global__ void sums_of_rows(float *out, const float *x, int columns) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    atomicAdd(&out[blockIdx.x], x[blockIdx.x * columns + i]);  // expect: atomics-in-loops
}
__global__ void by_an_address(float *out, const float *x, int n, int row) {
  for (int i = 0; i < n; ++i) {
    float value = x[i * n + threadIdx.x];
    atomicAdd(out + row * n + threadIdx.x, value);  // expect: atomics-in-loops
  }
}
__global__ void counted(int *count, const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (x[i] > 0) atomicAdd(count, 1);  // expect: atomics-in-loops
}
__global__ void largest(int *most, const int *x, int n) {
  int i = threadIdx.x;
  while (i < n) {
    atomicMax(&most[blockIdx.x], x[i]);  // expect: atomics-in-loops
    i += blockDim.x;
  }
}
__global__ void in_shared_memory(float *out, const float *x, int n) {
  __shared__ float sum;
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&sum, x[i]);  // expect: atomics-in-loops
  out[0] = sum;
}
__global__ void corners(float *out, const float *x, const int *at, int n, int width) {
  for (int i = 0; i < n; ++i) {
    int place = at[i];
    atomicAdd(&out[place], x[i]);  // expect: atomics-in-loops
    atomicAdd(&out[place + 1], x[i]);
    atomicAdd(&out[place + width], x[i]);
  }
}
template <typename T> __global__ void bins(T *out, T value, int height, int width) {
  for (int h = 0; h < height; ++h)
    for (int w = 0; w < width; ++w) atomicAdd(out + h * width + w, value);  // expect: atomics-in-loops
}
__global__ void one_after_the_loop(float *out, const float *x, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  atomicAdd(out, sum);
}
__global__ void another_each_time(float *out, const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&out[i], x[i]);
}
__global__ void histogram(int *count, const unsigned char *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&count[x[i]], 1);
}
__global__ void places(int *count, int *out, const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (x[i] > 0) out[atomicAdd(count, 1)] = i;
}
__global__ void place_in_a_variable(int *count, int *out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int place = atomicAdd(count, 1);
    out[place] = i;
  }
}
__global__ void pointer_that_moves(float *out, const float *x, int n) {
  for (int i = 0; i < n; ++i) {
    atomicAdd(out, x[i]);
    out += 32;
  }
}
__global__ void loaded_place(float *out, const int *at, const float *x, int n) {
  for (int i = 0; i < n; ++i) {
    int place = at[i];
    atomicAdd(&out[place], x[i]);
  }
}
__global__ void without_a_loop(float *out, const float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&out[i / 32], x[i]);
}
__global__ void elected(float *out, const float *x, int n) {
  if (threadIdx.x == 0)
    for (int i = 0; i < n; ++i) {
      atomicAdd(&out[i], x[i]);
      atomicAdd(&out[i + 1], x[i]);
    }
}
__global__ void of_integers(int *out, const int *at, int n) {
  for (int i = 0; i < n; ++i) {
    atomicAdd(&out[at[i]], 1);
    atomicAdd(&out[at[i] + 1], 1);
  }
}
__global__ void bin_of_the_round(int *count, const int *next, int n) {
  int at = 0;
  for (int i = 0; i < n; ++i) {
    atomicAdd(&count[at], 1);
    at = next[at];
  }
}
__global__ void exchanged(int *lock, int n) {
  for (int i = 0; i < n; ++i) atomicExch(lock, 0);
}
__global__ void of_a_table(int *count, const int *where, int *flags, int n) {
  for (int i = 0; i < n; ++i) {
    flags[i] = 1;
    atomicAdd(&count[where[flags[0]]], 1);
  }
}
__global__ void shared_out(float *out, const float *x, const int *at, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    atomicAdd(&out[at[i]], x[i]);
    atomicAdd(&out[at[i] + 1], x[i]);
  }
}
__global__ void of_a_part(float *out, const float *x, const int *part, int height, int width) {
  float *plane = out + part[blockIdx.x] * height * width;
  for (int h = 0; h < height; ++h)
    for (int w = 0; w < width; ++w)
      atomicAdd(plane + h * width + w, x[w]);  // expect: atomics-in-loops
}
__device__ void corners(float x, float y, int &low, int &high) {
  low = int(x);
  high = int(y) + 1;
}
__global__ void corners_by_reference(float *out, const float *x, int n, int width) {
  float *plane = out + blockIdx.x * width;
  for (int i = 0; i < n; ++i) {
    int low, high;
    corners(x[i], x[i + n], low, high);
    atomicAdd(plane + high * width + low, 1.0f);
  }
}

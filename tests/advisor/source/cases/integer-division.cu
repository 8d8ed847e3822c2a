// A division counts when a loop repeats it with a changing dividend, or when it divides by a power of two.
#define WIDTH 640
constexpr int TILE = 24;
__global__ void in_loop(int *out, int n, int width) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int row = i / width;  // expect: integer-division
    int col = i % width;
    out[i] = row + col;
  }
}
__global__ void once(int *out, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i / width;
}
__global__ void by_macro(int *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i / WIDTH;
}
__global__ void by_constexpr(int *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i % TILE;
}
template <int N> __global__ void by_template(int *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i / N + i % (N + 1);
}
template <typename T> __global__ void of_unknown_type(T *out, T d, int n) {
  for (int i = 0; i < n; ++i) out[i] = out[i] / d;
}
__global__ void of_floats(float *out, float d, int n) {
  for (int i = 0; i < n; ++i) out[i] = out[i] / d;
}
__global__ void by_shift(int *out, int k, int i) {
  out[0] = i / (1 << k);  // expect: integer-division
}
__global__ void by_kept_power(unsigned *out, int k, unsigned i) {
  const unsigned buckets = 1u << k;
  out[0] = i % buckets;  // expect: integer-division
}
__global__ void changed_power(unsigned *out, int k, unsigned i) {
  unsigned buckets = 1u << k;
  buckets += 3;
  out[0] = i % buckets;
}
__global__ void invariant(int *out, int n, int a, int b) {
  for (int i = 0; i < n; ++i) out[i] = a / b;
}
__global__ void compound(unsigned *out, unsigned value, unsigned base) {
  while (value > 0) {
    *out++ = value % base;  // expect: integer-division
    value /= base;
  }
}
__global__ void by_size(char *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i / sizeof(float);
}
__global__ void by_warp(int *out, int n) {
  for (int i = threadIdx.x; i < n; i += 128) out[i] = i / warpSize;
}
void on_the_host(int *out, int n, int d) {
  for (int i = 0; i < n; ++i) out[i] = i / d;
}
__device__ int helper(int n, int stride) {
  int sum = 0;
  do {
    sum += n % stride;  // expect: integer-division
    n -= 2;
  } while (n > 0);
  return sum;
}
__global__ void wide(long long *out, long long n, int width) {
#pragma unroll 4
  for (long long i = 0; i < n; ++i) {
    out[i] = i / (width * 2);  // expect: integer-division
  }
}
__global__ void by_static_member(int *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i / Traits::kRows;
}
__global__ void changing_divisor(int *out, const int *lengths, int n, int start) {
  for (int i = 0; i < n; ++i) {
    int length = lengths[i];
    out[i] = start % length + i / length;
  }
}
__global__ void beside_an_inner_loop(int *out, const float *in, int n, int width) {
  for (int block = blockIdx.x; block < n; block += gridDim.x) {
    int row = block / width;
    for (int k = 0; k < width; ++k) out[block] += in[row + k] > 0;
  }
}
__device__ float iterate(float x, int n) {
  for (int i = 0; i < n; ++i) x = x * x;
  return x;
}
__global__ void beside_a_call_that_loops(float *out, int n, int width) {
  for (int i = 0; i < n; ++i) out[i] = iterate(i / width, n);
}
__global__ void grid_loop(float *out, const float *in, size_t n, size_t rows) {
  for (size_t i = threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    out[i] = in[i % rows];  // expect: integer-division
  }
}
__global__ void innermost(int *out, int n, int width) {
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; i += 3) out[j] += i % width;  // expect: integer-division
}
__global__ void beside_an_unknown_call(float *out, int n, int width) {
  for (int block = blockIdx.x; block < n; block += gridDim.x) out[block] = escape_time(block % width);
}
__global__ void beside_an_intrinsic(unsigned *out, int n, int width) {
  for (int i = 0; i < n; ++i) out[i] = __popc(i % width);  // expect: integer-division
}
constexpr int rounded(int x) { return (x + 31) / 32 * 32; }
__global__ void by_a_computed_constant(int *out, const int *in, int n) {
  constexpr int LENGTH = rounded(16);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i / LENGTH] + i % LENGTH;
}
struct Shape { int width, height; };
__global__ void by_member(int *out, Shape shape, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = i / shape.width;  // expect: integer-division
}
__global__ void by_member_of_a_header(int *out, Grid grid, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = i % grid.width;  // expect: integer-division
}
__global__ void by_size_of_a_tensor(int *out, Accessor in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = i % in.size(2);  // expect: integer-division
}
__global__ void quotient_of_unknown_type(float *out, Grid grid, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = i / grid.scale;
}
__global__ void of_wide_integers(long long *out, long long width, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) out[i] = i / width;  // expect: integer-division
}
__global__ void rows_and_columns(float *out, const float *in, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = i % width;  // expect: integer-division
  int y = i / width;
  out[x * n + y] = in[i];
}
__global__ void carried_on(float *out, const float *in, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = i % w;  // expect: integer-division
  i /= w;
  int y = i % h;
  out[y] = in[x];
}
__global__ void counted_by_a_macro(float *out, const float *in, int n, int w) {
  CUDA_KERNEL_LOOP(i, n) {
    for (int k = 0; k < n; ++k) out[i] += in[(i / w) * n + i % w + k];  // expect: integer-division
  }
}
__global__ void one_of_them(float *out, const float *in, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i / w];
}
__global__ void by_constants(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i / 32] = in[i % 32];
}
template <int W> __global__ void by_parameters(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i / W] = in[i % W];
}
__global__ void of_loaded_numbers(int *out, const int *in, int w) {
  int i = in[blockIdx.x * blockDim.x + threadIdx.x];
  out[i / w] = i % w;
}
__global__ void of_the_block(float *out, const float *in, int w) {
  int row = blockIdx.x / w, column = blockIdx.x % w;
  out[row] = in[column];
}

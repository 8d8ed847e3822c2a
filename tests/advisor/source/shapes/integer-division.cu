// Divisions of indices as kernels write them.
#include <cstdint>
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
constexpr int kTile = 16;
enum { kRows = 8 };
struct Shape { int n, c, h, w; };
template <int W> struct Fixed { static constexpr int width = W; };
__global__ void unflatten(float *out, const float *in, int total, int h, int w) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += blockDim.x * gridDim.x) {
    int x = i % w;  // expect: integer-division
    int y = (i / w) % h;  // expect: integer-division
    out[i] = in[y * w + x];
  }
}
__global__ void shape_in_a_struct(float *out, const float *in, Shape s, int total) {
  for (int i = threadIdx.x; i < total; i += blockDim.x) {
    out[i] = in[i % s.w];  // expect: integer-division
  }
}
__global__ void enumerators(int *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i / kRows + i % kTile;
}
template <int W> __global__ void static_width(int *out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i % Fixed<W>::width;
}
template <typename Index> __global__ void index_of_a_template(int *out, Index n, Index w) {
  for (Index i = 0; i < n; ++i) out[i] = static_cast<int>(i % w);
}
__global__ void once_per_thread(float *out, const float *in, int h, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int y = i / w, x = i % w;  // expect: integer-division
  out[i] = in[x * h + y];
}
__global__ void trip_count(int *out, int n) {
  int rounds = CEIL_DIV(n, 256);
  for (int r = 0; r < rounds; ++r) out[r] = r;
}
__global__ void bound_of_the_loop(int *out, int n, int parts) {
  for (int i = 0; i < n / parts; ++i) out[i] = i;
}
__global__ void shifted_power(unsigned *out, unsigned i, unsigned bits) {
  out[0] = i % (1u << bits);  // expect: integer-division
}
__global__ void masked(unsigned *out, unsigned i, unsigned bits) { out[0] = i & ((1u << bits) - 1); }
__global__ void sizes_in_bytes(char *out, int bytes) {
  for (int i = 0; i < bytes; i += 4) out[i / sizeof(int)] = 0;
}
__device__ uint32_t collatz(uint32_t x) {
  uint32_t steps = 0;
  while (x != 1) {
    x = (x % 2) ? 3 * x + 1 : x / 2;
    ++steps;
  }
  return steps;
}
__device__ int greatest_divisor(int a, int b) {
  while (b) {
    int t = a % b;
    a = b;
    b = t;
  }
  return a;
}
__device__ int digit_sum(uint64_t n, uint64_t base) {
  int sum = 0;
  for (; n; n /= base) sum += n % base;  // expect: integer-division
  return sum;
}
__global__ void ring(float *out, const float *in, int n, int length) {
  int head = 0;
  for (int i = 0; i < n; ++i) {
    out[i] = in[head];
    head = (head + 1) % length;  // expect: integer-division
  }
}
__global__ void ring_by_comparison(float *out, const float *in, int n, int length) {
  int head = 0;
  for (int i = 0; i < n; ++i) {
    out[i] = in[head];
    if (++head == length) head = 0;
  }
}
__global__ void lambda_of_the_index(int *out, int n, int w) {
  auto row = [w](int i) { return i / w; };
  for (int i = 0; i < n; ++i) out[i] = row(i);
}
__global__ void warps_of_the_block(int *out, int n) {
  const int warps = blockDim.x / warpSize;
  for (int i = threadIdx.x / 32; i < n; i += warps) out[i] = i;
}
__global__ void quotient_of_floats(float *out, float scale, int n) {
  for (int i = 0; i < n; ++i) out[i] = i / scale;
}

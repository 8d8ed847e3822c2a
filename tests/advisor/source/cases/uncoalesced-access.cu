// Global memory of which neighbouring threads take elements that are a row apart.
#define RECORD 64
__global__ void sums_of_rows(float *out, const float *a, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = 0; k < columns; ++k) {
    sum += a[row * columns + k];  // expect: uncoalesced-access
  }
  out[row] = sum;
}
__global__ void sums_of_columns(float *out, const float *a, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0;
  for (int k = 0; k < rows; ++k) sum += a[k * columns + column];
  out[column] = sum;
}
__global__ void exchanged(float *out, const float *in, int n, int m) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && column < m) {
    int at = row * m + column;
    float value = in[at];  // expect: uncoalesced-access
    out[at] = 2 * value;   // expect: uncoalesced-access
  }
}
__global__ void in_order(float *out, const float *in, int n, int m) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && column < m) out[row * m + column] = in[row * m + column];
}
__global__ void with_a_step(float *out, const float *x, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i * step];
}
__global__ void convolved(float *out, const float *x, const float *w, int n, int stride, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < taps; ++k) sum += x[i * stride + k] * w[k];
  out[i] = sum;
}
__global__ void long_records(int *out, const int *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = in[i * RECORD + 3];  // expect: uncoalesced-access
  }
}
__global__ void short_records(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[3 * i] + in[3 * i + 1] + in[3 * i + 2];
}
template <int D> __global__ void points(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < D; ++k) sum += in[i * D + k];
  out[i] = sum;
}
__global__ void one_thread_a_block(float *out, const float *a, int pitch) {
  if (threadIdx.x == 0) {
    for (int k = 0; k < pitch; ++k) out[k] += a[threadIdx.x * pitch + k];
  }
}
__global__ void few_lanes(float *out, const float *a, int pitch) {
  if (threadIdx.x >= 4) return;
  for (int k = 0; k < pitch; ++k) out[k] += a[threadIdx.x * pitch + k];
}
__global__ void by_block(float *out, const float *a, int pitch) {
  for (int k = threadIdx.x; k < pitch; k += blockDim.x) out[k] += a[blockIdx.x * pitch + k];
}
__global__ void by_warp(float *out, const float *a, int pitch) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int k = lane; k < pitch; k += 32) out[k] += a[warp * pitch + k];
}
__global__ void grid_stride(double *out, const double *a, size_t n, size_t width) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double best = 0;
    for (size_t k = 0; k < width; k++) {
      best = max(best, a[i * width + k]);  // expect: uncoalesced-access
    }
    out[i] = best;
  }
}
__global__ void in_shared_memory(float *out, int n) {
  extern __shared__ float rows[];
  for (int k = 0; k < n; ++k) rows[threadIdx.x * n + k] = k;
  out[threadIdx.x] = rows[threadIdx.x * n];
}
__global__ void of_fields(float *out, const float *in, int width) {
  int tid;
  tid = threadIdx.x + blockIdx.x * blockDim.x;
  for (int j = 0; j != width; ++j) {
    out[width * tid + j] = in[j];  // expect: uncoalesced-access
  }
}
__global__ void gathered(float *out, const float *in, const int *index, int width) {
  int row = index[threadIdx.x];
  for (int k = 0; k < width; ++k) out[k] += in[row * width + k];
}
__global__ void remainder(float *out, const float *in, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = i % n;
  for (int k = 0; k < width; ++k) out[i] += in[row * width + k];
}
__global__ void transposed(float *out, const float *in, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n) {
    out[x * n + y] = in[y * n + x];  // expect: uncoalesced-access
  }
}
__global__ void address_alone(float **rows, float *in, int pitch, int k) {
  if (k < pitch) rows[threadIdx.x] = &in[threadIdx.x * pitch + k];
}
__global__ void tail_of_a_block(int *out, const int *sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sums[(i << 8) + 255];  // expect: uncoalesced-access
}
template <typename T> __global__ void of_any_type(T *out, const T *in, int n, int depth) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  for (int k = 0; k < depth; ++k) out[i] += in[(i + 1) * depth + k];  // expect: uncoalesced-access
}
__global__ void planes(float *out, const float *in, int n, int height, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      out[i] += in[i * height * width + y * width + x];  // expect: uncoalesced-access
}
__global__ void cast_first(float *out, const float *in, int n, int columns) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < columns && row < n; ++k) {
    out[row] += in[(size_t)row * columns + k];  // expect: uncoalesced-access
  }
}
__global__ void column_of_threads(float *out, const float *in, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) out[row] += in[row * n + k];
}
__global__ void reassigned(float *out, const float *in, int n, const int *next) {
  int i = threadIdx.x;
  i = next[i];
  for (int k = 0; k < n; ++k) out[k] += in[i * n + k];
}
__global__ void width_in_a_variable(float *out, const float *in, int n) {
  int d = 3, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = 0; k < d; ++k) out[i] += in[i * d + k];
}
template <int D> __global__ void width_of_template(float *out, const float *in, int n) {
  int d = D;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < d && i < n; ++k) out[i] += in[i * d + k];
}
__global__ void short_rows_launched(float *out, const float *in, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < width && i < n; ++k) out[i] += in[i * width + k];
}
__global__ void long_rows_launched(float *out, const float *in, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < width && i < n; ++k) {
    out[i] += in[i * width + k];  // expect: uncoalesced-access
  }
}
__global__ void thread_of_each_warp(float *out, const float *in, int n) {
  int warps = (blockDim.x + 31) / 32;
  if (threadIdx.x < warps)
    for (int k = 0; k < n; ++k) out[threadIdx.x] += in[threadIdx.x * n + k];
}
__global__ void last_lane(float *out, const float *in, int n) {
  int lane = threadIdx.x % 32;
  if (lane >= 31)
    for (int k = 0; k < n; ++k) out[threadIdx.x] += in[threadIdx.x * n + k];
}
__global__ void guard_of_a_multiple(float *out, const float *in, int n) {
  if (threadIdx.x * 16 < 64)
    for (int k = 0; k < n; ++k) out[threadIdx.x] += in[threadIdx.x * n + k];
}
__global__ void rows_of_a_block(float *out, const float *in) {
  for (int k = 0; k < blockDim.y; ++k) out[threadIdx.x] += in[threadIdx.x * blockDim.y + k];
}
__global__ void now_in_shared_memory(float *out, float *in, int n) {
  extern __shared__ float copy[];
  in = copy;
  for (int k = 0; k < n; ++k) out[threadIdx.x] += in[threadIdx.x * n + k];
}
__global__ void further_on(float *out, const float *in, int n) {
  in = in + blockIdx.x * n;
  for (int k = 0; k < n; ++k) {
    out[threadIdx.x] += in[threadIdx.x * n + k];  // expect: uncoalesced-access
  }
}
__global__ void __launch_bounds__(4) four_threads(float *out, const float *in, int n) {
  for (int k = 0; k < n; ++k) out[threadIdx.x] += in[threadIdx.x * n + k];
}
__device__ void place_of(int thread, int n, int &row, int &column) {
  row = thread % n;
  column = thread / n;
}
__global__ void by_reference(float *out, const float *in, int n) {
  int row, column = 0;
  place_of(threadIdx.x, n, row, column);
  for (int k = 0; k < n; ++k) out[threadIdx.x] += in[(row + threadIdx.x) * n + k];
}
__global__ void one_lane_along_x(float *out, int n, int m) {
  int column = blockDim.y * blockIdx.y + threadIdx.y, row = blockDim.x * blockIdx.x + threadIdx.x;
  if (column < n && row < m) out[row * n + column] = 1;
}
__global__ void many_lanes_along_x(float *out, int n, int m) {
  int column = blockDim.y * blockIdx.y + threadIdx.y, row = blockDim.x * blockIdx.x + threadIdx.x;
  if (column < n && row < m) out[row * n + column] = 1;  // expect: uncoalesced-access
}
int main(float *out, float *in, int n) {
  const dim3 narrow(1, SIZE_OF_A_HEADER, 1), wide(32, SIZE_OF_A_HEADER, 1);
  one_lane_along_x<<<dim3(n, n / 32), narrow>>>(out, n, n);
  many_lanes_along_x<<<dim3(n, n / 32), wide>>>(out, n, n);
  int width = 5;
  short_rows_launched<<<n, 256>>>(out, in, n, 3);
  short_rows_launched<<<n, 256>>>(out, in, n, n);
  long_rows_launched<<<n, 256>>>(out, in, n, 96);
  short_rows_launched<<<n, 256>>>(out, in, n, width);
  column_of_threads<<<n, dim3(1, 256)>>>(out, in, n);
}

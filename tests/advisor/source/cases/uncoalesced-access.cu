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
  for (int k = 0; k < width; ++k) out[i] += in[row * width + k];  // expect: uncoalesced-access
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
#define CUDA_1D_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
__global__ void rows_by_pointer(float *out, const float *in, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float *x = in + row * columns;
  float *y = &out[row * columns];
  for (int k = 0; k < columns; ++k) {
    float value = x[k];  // expect: uncoalesced-access
    y[k] = 2 * value;    // expect: uncoalesced-access
  }
}
__global__ void pointer_moved_on(float *out, const float *in, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  in += row * columns;
  float sum = 0;
  for (int k = 0; k < columns; ++k) {
    sum += in[k];  // expect: uncoalesced-access
  }
  out[row] = sum;
}
__global__ void rows_by_loop_of_macro(float *out, const float *in, int rows, int columns) {
  CUDA_1D_KERNEL_LOOP(row, rows) {
    const float *x = in + row * columns;
    for (int k = 0; k < columns; ++k) {
      out[row] += x[k];  // expect: uncoalesced-access
    }
  }
}
__global__ void pointer_of_a_block(float *out, const float *in, int columns) {
  const float *x = in + blockIdx.x * columns;
  for (int k = threadIdx.x; k < columns; k += blockDim.x) out[k] += x[k];
}
__global__ void pointer_to_shared_memory(float *out, int columns) {
  __shared__ float rows[4096];
  float *x = rows + threadIdx.x * columns;
  for (int k = 0; k < columns; ++k) x[k] = k;
  out[threadIdx.x] = x[0];
}
__global__ void pointer_set_anew(float *out, const float *in, const float *other, int columns) {
  const float *x = in + threadIdx.x * columns;
  x = other;
  for (int k = 0; k < columns; ++k) out[threadIdx.x] += x[k];
}
__global__ void pointer_to_a_column(float *out, const float *in, int rows, int columns) {
  const float *x = in + blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < rows; ++k) out[threadIdx.x] += x[k * columns];
}
__global__ void transposed_without_guard(float *out, const float *in, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  out[x * n + y] = in[y * n + x];  // expect: uncoalesced-access
}
__global__ void transposed_through_cache(float *out, const float *in, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  out[y * n + x] = __ldg(&in[x * n + y]);  // expect: uncoalesced-access
}
__global__ void every_sixteenth(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * 16];  // expect: uncoalesced-access
}
__global__ void all_of_sixteen(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 16; ++k) out[i] += in[i * 16 + k];
}
__global__ void half_of_eight(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * 8] + in[i * 8 + 1] + in[i * 8 + 2] + in[i * 8 + 3];
}
struct Particle { float x, y, z, mass; float3 speed, force; int kind, id; };
struct Point { float x, y, z, w; };
__global__ void one_field(float *out, const Particle *particles, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = particles[i].mass;  // expect: uncoalesced-access
}
__global__ void most_fields(float *out, Particle *particles, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = particles[i].mass * (particles[i].x + particles[i].y + particles[i].z) + particles[i].speed.x;
}
__global__ void whole_structures(Particle *out, const Particle *particles, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = particles[i];
}
__global__ void small_structures(float *out, const Point *points, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = points[i].x;
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
__global__ void of_a_number_taken_apart(float *out, const float *in, int n, int w, int h, int c) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  int k = id % c;
  id /= c;
  int b = id;
  float sum = 0;
  for (int i = 0; i < w * h; ++i) sum += in[i + h * w * (k + b * c)];  // expect: uncoalesced-access
  out[k + c * b] = sum;
}
__global__ void counter_of_two_loops(float *out, const float *in, int n, int size) {
  int f = blockIdx.x * blockDim.x + threadIdx.x, i = 0;
  if (f >= n) return;
  float sum = 0;
  for (i = 0; i < size; ++i) sum += in[f * size + i];  // expect: uncoalesced-access
  for (i = 0; i < size; ++i) out[f * size + i] = sum;  // expect: uncoalesced-access
}
__global__ void along_a_row_taken_apart(float *out, const float *in, int n, int w, int c) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  int x = id % w;
  id = id / w;
  int y = id % c;
  for (int k = 0; k < c; ++k) out[(y * c + k) * w + x] = in[(k * c + y) * w + x];
}
__global__ void by_a_short_row(float *out, const float *in, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int row = i % 4;
  for (int k = 0; k < width; ++k) out[i] += in[row * width + k];
}
__global__ void taken_apart_in_a_loop(float *out, const float *in, int n, int width) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  while (id > n) id /= width;
  for (int k = 0; k < width; ++k) out[k] += in[id * width + k];
}
//---
__global__ void flatten(int n, const float *x, float *out, int spatial, int layers, int forward) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int s = i % spatial;
  i = i / spatial;
  int c = i % layers, b = i / layers;
  int from = b * layers * spatial + c * spatial + s, to = b * layers * spatial + s * layers + c;
  if (forward) out[to] = x[from];  // expect: uncoalesced-access
}
__global__ void channels_last(float *out, const float *in, int channels, int height, int width) {
  int plane = height * width, y = blockIdx.y, x = blockIdx.x;
  for (int c = threadIdx.x; c < channels; c += blockDim.x)
    out[(y * width + x) * channels + c] = in[c * plane + y * width + x];  // expect: uncoalesced-access
}
__global__ void neighbours(int *found, const float *x, int n, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0, count = 0; k < n; ++k)
    if (x[k] < x[i] && count == 0)
      for (int l = 0; l < most; ++l) found[i * most + l] = k;  // expect: uncoalesced-access
}
__global__ void axpy(float *y, const float *x, int n, int offx, int incx, int incy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i * incy] += x[offx + i * incx];
}
__global__ void strided(float *out, const float *in, int stride, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * stride + blockIdx.y * width * stride];
}
__global__ void columns_of_blocks(float *f) {
  int x = threadIdx.x, y = blockIdx.x, ny = gridDim.x;
  f[9 * (x * ny + y)] = f[9 * (x * ny + y) + 1];  // expect: uncoalesced-access
}
__global__ void rows_of_three_and_more(float *out, const float *x, int n, int features) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int base = i * (3 + features);
  for (int j = 0; j < features; ++j) out[base + 3 + j] = x[j];  // expect: uncoalesced-access
}
#define AT(i, j, k, nx, ny) ((k) * (nx) * (ny) + (i) * (ny) + (j))
#define ROWS(row, column) ((row) * (width) + (column))
__global__ void by_a_macro(float *out, int nx, int ny, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y, k = blockIdx.z;
  if (i < nx && j < ny && k < nz) out[AT(i, j, k, nx, ny)] = 1;  // expect: uncoalesced-access
}
__global__ void by_a_macro_in_order(float *out, int nx, int ny, int nz) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y, k = blockIdx.z;
  if (i < nx && j < ny && k < nz) out[AT(i, j, k, nx, ny)] = 1;
}
__global__ void by_a_macro_with_a_name(float *out, int width, int height) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  for (int x = 0; x < width; ++x)
    if (y < height) out[ROWS(y, x)] *= 2;  // expect: uncoalesced-access
}
__global__ void by_an_address(float *out, const float *a, int rows, int columns) {
  int row;
  row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (row < rows)
    for (int k = 0; k < columns; ++k) sum += *(a + row * columns + k);  // expect: uncoalesced-access
  out[row] = sum;
}
__global__ void of_a_tensor(torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < x.size(2); ++k) x[blockIdx.y][i][k] = 1;  // expect: uncoalesced-access
}
__global__ void of_a_tensor_taken_apart(torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> x) {
  int n = blockIdx.x * blockDim.x + threadIdx.x;
  const int h = x.size(1), w = x.size(2);
  const int i = n % h; n /= h;
  const int j = n % w; n /= w;
  x[n][i][j] = 1;  // expect: uncoalesced-access
}
__global__ void of_a_tensor_in_order(torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < x.size(1); ++k) x[blockIdx.y][k][i] = 1;
}
__global__ void points_of_a_tensor(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i][0] = x[i][1] + x[i][2];
}
__global__ void compressed_rows(float *y, const int *first, const int *at, const float *a, const float *x, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int k = first[row]; k < first[row + 1]; ++k) sum += a[k] * x[at[k]];  // expect: uncoalesced-access
  y[row] = sum;
}
__global__ void compressed_rows_of_blocks(float *y, const int *first, const int *at, const float *a, const float *x) {
  float sum = 0;
  for (int k = first[blockIdx.x] + threadIdx.x; k < first[blockIdx.x + 1]; k += blockDim.x) sum += a[k] * x[at[k]];
  y[blockIdx.x] = sum;
}
__global__ void samples_of_a_ray(float *out, const float *x, const int *first, const int *count, int n) {
  int ray = blockIdx.x * blockDim.x + threadIdx.x;
  if (ray >= n) return;
  int begin = first[ray], samples = count[ray];
  x += begin;
  float sum = 0;
  for (int k = 0; k < samples; ++k) {
    sum += x[0];  // expect: uncoalesced-access
    x++;
  }
  out[ray] = sum;
}
__global__ void rows_of_a_header(int *out, const int *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= MOST_TOURS) return;
  for (int k = 0; k < most_cities; ++k) out[k] += in[i * most_cities + k];  // expect: uncoalesced-access
}
__global__ void updates_of_a_tensor(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 6; ++k) out[k] += x[i][k];
}
__global__ void voxels_behind_checks(float *weights, const float *depth, int width, int height, float least) {
  int y = threadIdx.x, z = blockIdx.x;
  for (int x = 0; x < width; ++x) {
    float seen = depth[x];
    if (seen <= least) continue;
    int voxel = z * height * width + y * width + x;
    weights[voxel] = weights[voxel] + seen;  // expect: uncoalesced-access
  }
}
__global__ void rows_from_end_to_end(float *sums, const float *parts, int n, int neighbours) {
  int i, last, j;
  float sum = 0;
  i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  last = (i + 1) * neighbours;
  for (j = i * neighbours; j < last; j++) sum += parts[j];  // expect: uncoalesced-access
  sums[i] = sum;
}
__global__ void channels_of_voxels(float *pooled, const float *in, int channels, int nx, int ny, int nz) {
  int flat = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
  int x = flat / (ny * nz);
  int y = (flat - x * (ny * nz)) / nz;
  int z = flat % nz;
  if (channel >= channels || x >= nx || y >= ny || z >= nz) return;
  int voxel = x * ny * nz + y * nz + z;
  pooled[voxel * channels + channel] = in[channel];  // expect: uncoalesced-access
}
__device__ float forward(const float *weights, float x, int n) {
  for (int k = 0; k < n; ++k) x += weights[k] * x;
  return x;
}
__global__ void networks(float *out, const float *weights, int n, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float *own = weights + i * count;
  float x = 0;
  for (int step = 0; step < 100; ++step) x = forward(own, x, count);  // expect: uncoalesced-access
  out[i] = x;
}
__device__ float first_of(const float *weights) { return weights[0]; }
__global__ void networks_of_blocks(float *out, const float *weights, int count) {
  const float *own = weights + blockIdx.x * count;
  out[blockIdx.x * blockDim.x + threadIdx.x] = forward(own, threadIdx.x, count) + first_of(own + threadIdx.x);
}
__global__ void samples_of_tensors(torch::PackedTensorAccessor<float, 1, torch::RestrictPtrTraits> x,
                                   torch::PackedTensorAccessor64<long, 2, torch::RestrictPtrTraits> rays, float *out) {
  int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= rays.size(0)) return;
  int begin = rays[n][1], count = rays[n][2], k = 0;
  float sum = 0;
  while (k < count) {
    int s = begin + k;
    sum += x[s];  // expect: uncoalesced-access
    k++;
  }
  out[n] = sum;
}
__global__ void steps_along_rows(double *out, const double *paths, unsigned n, unsigned count) {
  int i = threadIdx.x + blockIdx.x * blockDim.x, at = i * n, round = 0;
  double product = 1;
  if (i < count) {
    do {
      product *= paths[at];  // expect: uncoalesced-access
      at++;
      round++;
    } while (round < n);
    out[i] = product;
  }
}
__global__ void steps_by_another_bound(double *out, const double *paths, unsigned n, unsigned m) {
  int i = threadIdx.x + blockIdx.x * blockDim.x, at = i * n;
  double product = 1;
  for (int round = 0; round < m; ++round) {
    product *= paths[at];
    at++;
  }
  out[i] = product;
}

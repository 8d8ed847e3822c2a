// Elements of global memory that many threads of a block read, without a tile in shared memory.
struct Body { float x, y, z; };
__global__ void bodies(float *force, const Body *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int j = 0; j < n; ++j) sum += p[j].x - p[i].x;  // expect: unstaged-reuse
  force[i] = sum;
}
__global__ void nearest(int *out, const float *points, const float *centres, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = points[i], least = 1e9f;
  for (int j = 0; j < n; ++j) {
    float d = fabsf(x - centres[j * 2]);  // expect: unstaged-reuse
    if (d < least) out[i] = j, least = d;
  }
}
__global__ void for_each_point(float *out, const float *points, const float *known, int n, int m) {
  for (int i = threadIdx.x; i < m; i += blockDim.x) {
    float x = points[i], sum = 0;
    for (int k = 0; k < n; ++k) {
      float y = known[k];  // expect: unstaged-reuse
      sum += x * y;
    }
    out[i] = sum;
  }
}
__global__ void window(float *out, const float *in, int n, int radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = -radius; k <= radius; ++k) sum += in[i + k];  // expect: unstaged-reuse
  out[i] = sum;
}
__global__ void window_of_an_image(float *out, const float *in, int w, int h, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int dy = 0; dy < r; ++dy)
    for (int dx = 0; dx < r; ++dx) sum += in[(y + dy) * w + x + dx];  // expect: unstaged-reuse
  out[y * w + x] = sum;
}
__global__ void window_of_rows(unsigned char *out, const unsigned char *in, int w, int h, int r) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  int x = id % w, y = id / w, sum = 0;
  for (int k = 0; k < r; ++k) {
    int row = clamped(y + k, h);
    sum += in[row * w + x];  // expect: unstaged-reuse
  }
  out[id] = sum;
}
__global__ void three_taps(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 3; ++k) sum += in[i + k];
  out[i] = sum;
}
__global__ void staged(float *force, const float *x, int n) {
  __shared__ float tile[256];
  float sum = 0;
  for (int first = 0; first < n; first += 256) {
    tile[threadIdx.x] = x[first + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256; ++j) sum += tile[j];
    __syncthreads();
  }
  force[threadIdx.x] = sum;
}
__global__ void a_row_each(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) out[i] += in[i * n + k];
}
__global__ void a_row_by_a_name(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, first = i * n;
  for (int k = 0; k < n; ++k) out[i] += in[first + k];
}
__global__ void a_column_each(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) out[i] += in[i + k * n];
}
__global__ void elements_each(float *out, const float *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = in[i];
}
__global__ void few_for_all(float *out, const float *weights) {
  float x = out[threadIdx.x], sum = 0;
  for (int k = 0; k < 4; ++k) sum += x * weights[k];
  out[threadIdx.x] = sum;
}
__global__ void beside_own_elements(float *out, const float *in, const float *weights, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += in[k * n + threadIdx.x] * weights[k];
  out[threadIdx.x] = sum;
}
__global__ void for_the_block(float *out, const float *in, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += in[k];
  out[threadIdx.x] = sum;
}
__global__ void gathered(float *out, const float *in, const int *at, int n) {
  float x = out[threadIdx.x], sum = 0;
  for (int k = 0; k < n; ++k) sum += x * in[at[threadIdx.x] + k];
  out[threadIdx.x] = sum;
}
__global__ void what_stays(float *out, const float *in, int n) {
  float x = out[threadIdx.x], sum = 0;
  for (int k = 0; k < n; ++k) sum += x * in[blockIdx.x];
  out[threadIdx.x] = sum;
}
__global__ void neighbours_without_a_loop(float *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i - 1] + in[i] + in[i + 1];
}
__device__ float of_a_function(const float *in, int i, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += in[i + k];
  return sum;
}
__global__ void stores(float *out, float x, int n) {
  float y = x * threadIdx.x;
  for (int k = 0; k < n; ++k) out[k] = y * 2;
}
__global__ void steps_of_a_block(float *out, const float *in, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; k += blockDim.x) out[i + k] = in[i + k];
}
__global__ void rows_by_a_moved_pointer(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  in += i * n;
  float x = out[i], sum = 0;
  for (int k = 0; k < n; ++k) sum += x * in[k];
  out[i] = sum;
}
__global__ void by_one_thread(float *out, const float *in, int n) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    float v = in[k];
    sum += v * v;
  }
  out[0] = sum;
}
__global__ void launched_with_one_thread(float *out, const float *in, int n) {
  float least = in[threadIdx.x], sum = 0;
  for (int k = 0; k < n; ++k) sum += in[k] - least;
  out[0] = sum;
}
void launch(float *out, const float *in, int n) { launched_with_one_thread<<<1, 1>>>(out, in, n); }
__global__ void rows_by_a_pointer_that_helpers_moved(float *out, const float *in, int n, const int *row) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int first = row[i];
  in += first;
  float x = out[i], sum = 0;
  for (int k = 0; k < n; ++k) sum += x * in[k];
  out[i] = sum;
}
//---
__global__ void nearest_of_a_batch(const float *from, const float *to, int *index, int n, int m) {
  to += blockIdx.y * m * 3;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float best = 1e30f;
  for (int k = 0; k < m; ++k) {
    float d = from[i] - to[k * 3];  // expect: unstaged-reuse
    if (d < best) { best = d; index[i] = k; }
  }
}
__global__ void row_of_the_thread(const float *x, float *out, int m) {
  x += (blockIdx.x * blockDim.x + threadIdx.x) * m;
  float sum = out[threadIdx.x];
  for (int k = 0; k < m; ++k) sum += x[k];
  out[threadIdx.x] = sum;
}
__global__ void three_by_three(float *out, const float *in, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int i = -1; i <= 1; ++i)
    for (int j = 0; j < 3; ++j) sum += in[(y + i) * width + x + j];
  out[y * width + x] = sum;
}

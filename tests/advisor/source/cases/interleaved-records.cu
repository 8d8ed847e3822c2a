// Records of a few elements, one for each thread, that are taken an element at a time.
struct Body { float x, y, z, vx, vy, vz; };
struct Pair { float value; int index; };
__device__ int cell(int x, int y, int q, int nx) { return (y * nx + x) * 9 + q; }
__global__ void points(float *out, const float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[2 * i] + p[2 * i + 1];  // expect: interleaved-records
}
__global__ void boxes(float *out, const float *box, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float area = box[i * 7 + 3] * box[i * 7 + 4];  // expect: interleaved-records
  out[i] = area;
}
__global__ void stored(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i * 3] = 0;  // expect: interleaved-records
  p[i * 3 + 1] = 1;
  p[i * 3 + 2] = 2;
}
__global__ void bytes(unsigned char *out, const unsigned char *rgb, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (-1 < x && x < w) {
    int at = (y * w + x) * 3;
    out[y * w + x] = (rgb[at] + rgb[at + 1] + rgb[at + 2]) / 3;  // expect: interleaved-records
  }
}
__global__ void bodies(float *out, const Body *body) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = body[i].x * body[i].vx + body[i].y * body[i].vy;  // expect: interleaved-records
}
__global__ void by_a_function(double *rho, const double *f, int nx) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  double sum = 0;
  for (int q = 0; q < 9; ++q) sum += f[cell(x, y, q, nx)];  // expect: interleaved-records
  rho[y * nx + x] = sum;
}
__global__ void by_rank(float *out, const float *p, int n) {
  auto i = cooperative_groups::this_grid().thread_rank();
  if (i < n) out[i] = p[3 * i] + p[3 * i + 1] + p[3 * i + 2];  // expect: interleaved-records
}
__global__ void one_each(float *out, const float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[i] + p[i + n];
}
__global__ void vectors(float *out, const float2 *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[i].x + p[i].y;
}
__global__ void every_other(float *out, const float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[2 * i];
}
__global__ void by_the_block(float *out, const float *p) {
  int i = blockIdx.x;
  out[threadIdx.x] = p[3 * i] + p[3 * i + 1] + p[3 * i + 2];
}
__global__ void of_one_thread(float *out, const float *p) {
  if (threadIdx.x == 0) out[0] = p[3 * threadIdx.x] + p[3 * threadIdx.x + 1];
}
__global__ void in_shared_memory(float *out) {
  __shared__ float s[512];
  out[threadIdx.x] = s[2 * threadIdx.x] + s[2 * threadIdx.x + 1];
}
__global__ void in_a_row(float *out, const float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = p[i * n] + p[i * n + 1];
}
__global__ void at_two_distances(float *out, const float *p) {
  int i = threadIdx.x;
  out[i] = p[2 * i] + p[2 * i + 1] + p[i];
}
__global__ void long_records(float *out, const float *p) {
  int i = threadIdx.x;
  out[i] = p[64 * i] + p[64 * i + 1];
}
__global__ void one_field(float *out, const Pair *pair) {
  int i = threadIdx.x;
  out[i] = pair[i].value;
}
__global__ void found_by_data(float *out, const float *p, const int *at) {
  int i = at[threadIdx.x];
  out[threadIdx.x] = p[3 * i] + p[3 * i + 1];
}
__global__ void addresses(float *p) {
  int i = threadIdx.x;
  take(&p[3 * i], &p[3 * i + 1]);
}
__global__ void coarse_rows(float *out, const float *p, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) out[k] += p[k] + p[k + 1];
}
const int RUN = 16;
__global__ void runs_by_a_pointer(float *out, __half *x, int width) {
  int column = (blockIdx.x * blockDim.x + threadIdx.x) * RUN;
  float sum = 0;
  __half2 *p = (__half2 *)&x[blockIdx.y * width + column];
  for (int k = 0; k < RUN / 2; k++) {
    __half2 two = *p++;  // expect: interleaved-records
    sum += __low2float(two) + __high2float(two);
  }
  out[blockIdx.y * width + column / RUN] = sum;
}
__global__ void pairs_at_once(__half *x, __half2 value, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  __half *place = x + i;
  if (i + 1 < n) *((__half2 *)place) = value;
}
template <typename T> __global__ void points_of_a_template(T *out, const T *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[3 * i] + x[3 * i + 1] + x[3 * i + 2];  // expect: interleaved-records
}
__global__ void one_of_two_layouts(float *out, const float *points, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef ROWS
  out[i] = points[3 * i] + points[3 * i + 1] + points[3 * i + 2];  // expect: interleaved-records
#else
  out[i] = points[i] + points[n + i] + points[2 * n + i];
#endif
}

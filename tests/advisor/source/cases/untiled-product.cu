// Matrix products that load both operands from global memory for each multiply-add.
__global__ void textbook(float *c, const float *a, const float *b, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];  // expect: untiled-product
  c[row * n + column] = sum;
}
__global__ void in_memory(float *c, const float *a, const float *b, int n) {
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  for (int k = 0; k < n; ++k) c[row * n + column] += a[row * n + k] * b[k * n + column];  // expect: untiled-product
}
__global__ void written_out(double *c, const double *a, const double *b, int m, int n, int p) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0;
  for (int k = 0; k < n; ++k) {
    sum = sum + a[row * n + k] * b[k * p + column];  // expect: untiled-product
  }
  if (row < m && column < p) c[row * p + column] = sum;
}
__global__ void of_columns(float *c, const float *a, const float *b, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k * n + row] * b[column * n + k];  // expect: untiled-product
  c[column * n + row] = sum;
}
__global__ void scaled(float *c, const float *a, const float *b, int n, float alpha) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    sum += alpha * (a[k + row * n] * b[column + k * n]);  // expect: untiled-product
  }
  c[row * n + column] = sum;
}
__global__ void of_a_constant_size(float *c, const float *a, const float *b) {
  int row = threadIdx.y, column = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 64; ++k) sum += a[row * 64 + k] * b[k * 64 + column];  // expect: untiled-product
  c[row * 64 + column] = sum;
}
__global__ void tiled(float *c, const float *a, const float *b, int n) {
  __shared__ float at[16][16], bt[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    at[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bt[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += at[threadIdx.y][k] * bt[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
__global__ void flat_tiles(float *c, const float *a, const float *b, int n) {
  __shared__ float at[256], bt[256];
  at[threadIdx.x] = a[threadIdx.x];
  bt[threadIdx.x] = b[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < 16; ++k) c[threadIdx.x] += at[threadIdx.x * 16 + k] * bt[k * 16 + threadIdx.x];
}
__global__ void matrix_by_vector(float *y, const float *a, const float *x, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * x[k];
  y[row] = sum;
}
__global__ void columns_by_vector(float *y, const float *a, const float *x, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k * n + row] * x[k];
  y[row] = sum;
}
__global__ void dot_products(float *out, const float *a, const float *b, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[row * n + k];
  out[row] = sum;
}
__global__ void sparse(float *y, const float *a, const float *x, const int *at, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * x[at[row * n + k] * n + row];
  y[row] = sum;
}
__global__ void square(float *c, const float *a, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * a[k * n + column];
  c[row * n + column] = sum;
}
__global__ void convolved(float *out, const float *in, const float *mask, int n, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < taps; ++k) sum += in[i + k] * mask[k];
  out[i] = sum;
}
__global__ void elementwise(float *c, const float *a, const float *b, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] += a[i] * b[i];
}
__global__ void outer(float *c, const float *a, const float *b, int n) {
  for (int k = 0; k < n; ++k) c[threadIdx.x * n + k] += a[threadIdx.x] * b[k];
}
__global__ void without_a_sum(float *c, const float *a, const float *b, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k) c[k * n + i] = a[i * n + k] * b[k * n + i];
}
__global__ void without_a_loop(float *c, const float *a, const float *b, int n, int k) {
  int i = threadIdx.x;
  c[i] += a[i * n + k] * b[k * n + i];
}
__global__ void from_registers(float *c, const float *b, int n) {
  float a[8] = {};
  for (int k = 0; k < 8; ++k) c[threadIdx.x] += a[0 + k] * b[k * n + threadIdx.x];
}

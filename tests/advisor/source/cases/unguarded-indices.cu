// Elements of the thread's number that are taken before its check, or without one.
__global__ void loaded_first(float *x, const float *factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float f = factor[i];  // expect: unguarded-indices
  if (i < n) x[i] *= f;
}
__global__ void taken_apart(float *x, const float *y, int n, int s) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  int i = id % s, b = id / s;
  float first = y[b * s + i];  // expect: unguarded-indices
  if (id < n) x[id] = first;
}
__global__ void left_later(float *x, const int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int c = count[i];  // expect: unguarded-indices
  if (i >= n) return;
  x[i] /= c;
}
__global__ void add(float *z, const float *x, const float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  z[i] = x[i] + y[i];  // expect: unguarded-indices
}
void run_add(float *z, float *x, float *y, int n) { add<<<(n + 255) / 256, 256>>>(z, x, y); }
__global__ void sums(float *z, const float *x, int m) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  float sum = 0;
  for (int k = 0; k < m; ++k) sum += x[k];
  z[i] = sum;  // expect: unguarded-indices
}
void run_sums(float *z, float *x, int n, int m) {
  const int blocks = ceil(n / 256.0);
  sums<<<blocks, 256>>>(z, x, m);
}
__global__ void signs(int *z, const int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] > 0)
    z[i] = 1;  // expect: unguarded-indices
}
void run_signs(int *z, int *x, int n) { signs<<<n / 256 + 1, 256>>>(z, x); }
__global__ void checked(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
void run_checked(float *x, int n) { checked<<<(n + 255) / 256, 256>>>(x, n); }
__global__ void exact(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2;
}
void run_exact(float *x, int n) { exact<<<n / 256, 256>>>(x); }
__global__ void never_launched_here(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] *= 2;
}
__global__ void limited(float *x, int n) {
  int i = min(blockIdx.x * blockDim.x + threadIdx.x, n - 1);
  x[blockIdx.x * blockDim.x + threadIdx.x] = i;
}
void run_limited(float *x, int n) { limited<<<(n + 255) / 256, 256>>>(x, n); }
__global__ void strided(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 2;
}
void run_strided(float *x, int n) { strided<<<(n + 255) / 256, 256>>>(x, n); }
__global__ void of_the_block(float *x, const float *scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = scale[blockIdx.x];
  if (i < n) x[i] *= s;
}
__global__ void of_the_thread(float *x, const float *scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = scale[threadIdx.x];
  if (i < n) x[i] *= s;
}
__global__ void check_of_the_data(float *x, const float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = y[i];
  if (v < 0) x[i] = v;
}
__global__ void in_shared_memory(float *x, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = s[threadIdx.x];
  if (i < n) x[i] = v;
}
__global__ void with_a_choice(float *x, const float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? y[i] : 0;
  if (i < n) x[i] = v;
}
__global__ void of_a_few(float *x, const float *y) {
  float v = y[threadIdx.x];
  if (threadIdx.x < 16) x[threadIdx.x] = v;
}
__constant__ int columns_of_all, rows_of_all;
__global__ void guarded_by_constants(float *a, const int *kind) {
  int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
  int at = y * columns_of_all + x;
  if (y >= rows_of_all || x >= columns_of_all) return;
  float sum = a[at];
  if (x > 0) sum += a[at - 1];
  a[at] = sum;
}

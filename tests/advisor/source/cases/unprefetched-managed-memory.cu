// Managed memory that a kernel gets with neither prefetch nor advice; a dashed line starts another file.
__global__ void kernel(float *a, float *b) { a[0] = b[0]; }
int main() {
  float *a, *b;
  cudaMallocManaged(&a, 4);  // expect: unprefetched-managed-memory
  cudaMallocManaged(&b, 4);
  kernel<<<1, 32>>>(a, b);
}
void checked() {
  float *data;
  CHECK(cudaMallocManaged((void **)&data, 4));  // expect: unprefetched-managed-memory
  kernel<<<1, 32>>>(data, data);
}
void not_passed(float *b) {
  float *a;
  cudaMallocManaged(&a, 4);
  kernel<<<1, 32>>>(b, b);
}
float *allocated_only() {
  float *a;
  cudaMallocManaged(&a, 4);
  return a;
}
void plain_memory() {
  float *a;
  cudaMalloc(&a, 4);
  kernel<<<1, 32>>>(a, a);
}
void launched_only(float *a) { kernel<<<1, 32>>>(a, a); }
void in_stream(cudaStream_t s) {
  float *weights;
  cudaMallocManaged(&weights, 4);  // expect: unprefetched-managed-memory
  kernel<<<1, 32, 0, s>>>(weights, weights);
}
void by_expression(int n) {
  float *a;
  cudaMallocManaged(&a, n);
  kernel<<<1, 32>>>(a + 1, a + 2);
}
template <typename T> void of_template(T *) {
  T *values;
  CHECK(cudaMallocManaged(reinterpret_cast<void **>(&values), 4));  // expect: unprefetched-managed-memory
  kernel<<<1, 32>>>(values, values);
}
void in_a_loop(int n) {
  float *data = nullptr;
  cudaMallocManaged(&data, n, cudaMemAttachGlobal);  // expect: unprefetched-managed-memory
  for (int i = 0; i < n; ++i) kernel<<<n, 256>>>(data, data);
  cudaFree(data);
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void prefetched() {
  float *a;
  cudaMallocManaged(&a, 4);
  cudaMemPrefetchAsync(a, 4, 0);
  kernel<<<1, 32>>>(a);
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void advised() {
  float *a;
  cudaMallocManaged(&a, 4);
  cudaMemAdvise(a, 4, cudaMemAdviseSetReadMostly, 0);
  kernel<<<1, 32>>>(a);
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void attached(cudaStream_t s) {
  float *a;
  cudaMallocManaged(&a, 4);
  cudaStreamAttachMemAsync(s, a);
  kernel<<<1, 32, 0, s>>>(a);
}
//---
__managed__ float counter;
__global__ void kernel() { counter = 1; }
void variable() { kernel<<<1, 32>>>(); }
//---
__global__ void kernel(float *a) { atomicAdd_system(a, 1.0f); }
void shared_with_the_host() {
  float *a;
  cudaMallocManaged(&a, 4);
  kernel<<<1, 32>>>(a);
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void filled_by_a_copy(float *h) {
  float *a;
  cudaMallocManaged(&a, 4);
  cudaMemcpy(a, h, 4, cudaMemcpyHostToDevice);
  kernel<<<1, 32>>>(a);
}

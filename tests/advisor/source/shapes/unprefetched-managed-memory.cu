// Managed memory as first programs write it.
__global__ void add(int n, float *x, float *y) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] + y[i];
}
int main() {
  int n = 1 << 20;
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));  // expect: unprefetched-managed-memory
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; i++) x[i] = y[i] = 1.0f;
  add<<<1, 256>>>(n, x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
template <typename T> void buffer_of_a_template(size_t n) {
  T *values = nullptr;
  cudaMallocManaged(&values, n * sizeof(T));  // expect: unprefetched-managed-memory
  add<<<1, 256>>>(n, values, values);
}
void host_only(size_t n) {
  int *counts;
  cudaMallocManaged(&counts, n * sizeof(int));
  counts[0] = 1;
  cudaFree(counts);
}
struct Field { float *values; };
void member(Field &f, size_t n) {
  cudaMallocManaged(&f.values, n * sizeof(float));  // expect: unprefetched-managed-memory
  add<<<1, 256>>>(1, f.values, f.values);
}

// Block sizes as people choose them.
constexpr int kRows = 6, kColumns = 9;
__global__ void kernel(float *a) { a[0] = 1; }
template <typename T> __global__ void of_type(T *a) { a[0] = T(1); }
void one_thread_per_cell(float *a) {
  kernel<<<100, kRows * kColumns>>>(a);  // expect: partial-warp
}
void odd_tile(float *a, cudaStream_t s) {
  dim3 block(17, 15);
  of_type<float><<<100, block, 0, s>>>(a);  // expect: partial-warp
}
void tall_tile(float *a) { kernel<<<100, dim3(4, 64)>>>(a); }
void rounded_by_hand(float *a, int n) {
  int threads = ((n + 31) / 32) * 32;
  kernel<<<1, threads>>>(a);
}
void fewer_when_small(float *a, int n) {
  int threads = n < 256 ? n : 256;
  kernel<<<1, threads>>>(a);
}
void one_warp(float *a) { kernel<<<1, 32>>>(a); }

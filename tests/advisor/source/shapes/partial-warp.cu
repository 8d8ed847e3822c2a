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
#define BLOCK_X 20
void by_macros(float *a, int n) {
  kernel<<<(n + BLOCK_X - 1) / BLOCK_X, dim3(BLOCK_X, BLOCK_X)>>>(a);  // expect: partial-warp
}
void braces(float *a) {
  dim3 threads{12, 12, 1};
  of_type<<<64, threads>>>(a);  // expect: partial-warp
}
void constant_of_the_function(float *a, int n) {
  constexpr int threads = 500;
  for (int i = 0; i < n; ++i) kernel<<<64, threads>>>(a);  // expect: partial-warp
}
void sides_set_one_by_one(float *a) {
  dim3 block;
  block.x = 10;
  block.y = 10;
  kernel<<<64, block>>>(a);
}

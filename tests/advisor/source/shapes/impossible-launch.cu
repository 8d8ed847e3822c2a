// Blocks beyond 1024 threads.
constexpr int kTile = 64;
__global__ void kernel(float *a) { a[0] = 1; }
void square_tile(float *a) {
  const dim3 block(kTile, kTile / 2);
  kernel<<<16, block>>>(a);  // expect: impossible-launch
}
void three_sides(float *a) {
  kernel<<<dim3(4, 4), dim3(16, 16, 8)>>>(a);  // expect: impossible-launch
}
void swapped_arguments(float *a) { kernel<<<2048, 256>>>(a); }
void tile_with_fewer_rows(float *a) {
  const dim3 block(kTile, 8);
  kernel<<<16, block>>>(a);
}
template <int T> void block_of_a_template(float *a) { kernel<<<16, T * T>>>(a); }
void chosen_at_run_time(float *a, bool large) {
  int threads = large ? 1024 : 256;
  kernel<<<16, threads>>>(a);
}
#define TILE_WIDTH 48
void by_macro(float *a) {
  kernel<<<16, dim3(TILE_WIDTH, TILE_WIDTH, 1)>>>(a);  // expect: impossible-launch
}
template <typename T> void in_a_template(T *a, cudaStream_t s) {
  kernel<<<16, 1536, 0, s>>>(a);  // expect: impossible-launch
}
void every_element_its_thread(float *a) {
  const int n = 1 << 12;
  kernel<<<1, n>>>(a);  // expect: impossible-launch
}

// Launches with a thread for each item.
void rows_and_columns(float *x, int rows, int columns) {
  f<<<rows, columns>>>(x);  // expect: data-sized-blocks
  g<<<rows, columns>>>(x);
}
void of_a_member(const Matrix &m) {
  f<<<m.rows, m.cols>>>(m.data);  // expect: data-sized-blocks
}
void by_a_variable(float *x, int n_classes) {
  dim3 blocks = 4;
  dim3 width = n_classes;
  f<<<blocks, width>>>(x);  // expect: data-sized-blocks
}
void by_sides(float *x, int n_points, int n_fits_per_block) {
  dim3 threads(1, 1, 1);
  threads.x = n_points * n_fits_per_block;
  f<<<64, threads>>>(x);  // expect: data-sized-blocks
}
void two_sides(float *x, int n) {
  dim3 square(n + 1, n);
  f<<<64, square>>>(x);  // expect: data-sized-blocks
}
void counted(float *x, const std::vector<int> &labels) {
  int count = labels_of(labels);
  int items = count + 1, both = items * 2;
  f<<<64, items>>>(x);
}
void local_number(float *x, int items) {
  int both = items * 2;
  f<<<64, both>>>(x);  // expect: data-sized-blocks
}
void fixed(float *x, int n) { f<<<(n + 255) / 256, 256>>>(x); }
void chosen(float *x, int n, int block_size) { f<<<n, block_size>>>(x); }
void chosen_threads(float *x, int n, int nThreads) { f<<<n, nThreads>>>(x); }
void rounded(float *x, int n) { f<<<64, (n + 31) / 32 * 32>>>(x); }
void rounded_by_a_function(float *x, int n) { f<<<64, round_up(n, 32)>>>(x); }
void limited(float *x, int n) { f<<<64, std::min(n, 512)>>>(x); }
void whole_warps(float *x, int n) { f<<<64, dim3(32, n)>>>(x); }
void macro(float *x, int n) { f<<<n, THREADS>>>(x); }
void of_the_device(float *x, cudaDeviceProp p) { f<<<64, p.maxThreadsPerBlock>>>(x); }
void a_letter(float *x, int n, int t) { f<<<n, t>>>(x); }
void by_mask(float *x, int n) { f<<<64, n & ~31>>>(x); }
void shifted(float *x, int n) { f<<<64, n << 5>>>(x); }

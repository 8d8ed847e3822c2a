// Blocks that are no whole number of warps.
#define ROWS 10
__global__ void kernel(float *a) { a[0] = 1; }
void hundred(float *a) {
  kernel<<<1, 100>>>(a);  // expect: partial-warp
}
void whole(float *a) { kernel<<<1, 96>>>(a); }
void tile(float *a) {
  kernel<<<1, dim3(10, ROWS)>>>(a);  // expect: partial-warp
}
void odd_sides(float *a) { kernel<<<1, dim3(8, 4, 3)>>>(a); }
void single(float *a) { kernel<<<1, 1>>>(a); }
void part_of_one(float *a) { kernel<<<1, 16>>>(a); }
void unknown(float *a, int n) { kernel<<<1, n>>>(a); }
void by_variable(float *a) {
  int threads = 200;
  kernel<<<1, threads>>>(a);  // expect: partial-warp
}
void rounded(float *a, int n) { kernel<<<1, (n + 31) / 32 * 32>>>(a); }
void reassigned(float *a, int n) {
  int threads = 200;
  if (n > 9) threads = 256;
  kernel<<<1, threads>>>(a);
}
void by_address(float *a) {
  int grid = 3, threads = 200;
  cudaOccupancyMaxPotentialBlockSize(&grid, &threads, kernel, 0, 0);
  kernel<<<grid, threads>>>(a);
}
template <int N> void of_template(float *a) { kernel<<<1, N>>>(a); }
void largest(float *a) {
  kernel<<<1, 1000>>>(a);  // expect: partial-warp
}

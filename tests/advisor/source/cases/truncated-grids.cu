// Grids that leave the last elements out.
__global__ void add(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
__global__ void add_rows(float *x, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  x[j * w + i] += 1;
}
__global__ void strided(float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += 1;
}
__global__ void declared(float *x, int n);
const int kBlock = 256;
const int kEven = 1024;
const int kOdd = 1000;
void plain(float *x, int n) {
  add<<<n / 256, 256>>>(x, n);  // expect: truncated-grids
}
void of_a_constant_block(float *x, int n) {
  int blocks = n / kBlock;
  add<<<blocks, kBlock>>>(x, n);  // expect: truncated-grids
}
void of_two_sides(float *x, int w, int h) {
  dim3 block(16, 16);
  dim3 grid(w / block.x, h / block.y);
  add_rows<<<grid, block>>>(x, w, h);  // expect: truncated-grids
}
void of_one_side(float *x, int w, int h) {
  dim3 block(16, 8);
  dim3 grid((w + 15) / 16, h / 8);
  add_rows<<<grid, block>>>(x, w, h);  // expect: truncated-grids
}
void of_an_element(float *x, std::vector<int> dims) {
  dim3 block(8, 8);
  dim3 grid(dims[0] / block.x, dims[1] / block.y);
  add_rows<<<grid, block>>>(x, dims[0], dims[1]);  // expect: truncated-grids
}
void of_a_known_size(float *x) {
  add<<<kOdd / kBlock, kBlock>>>(x, kOdd);  // expect: truncated-grids
}
void rounded_up(float *x, int n) { add<<<(n + 255) / 256, 256>>>(x, n); }
void one_more(float *x, int n) { add<<<n / 256 + 1, 256>>>(x, n); }
void of_a_whole_number(float *x) { add<<<kEven / kBlock, kBlock>>>(x, kEven); }
void padded(float *x, int padded_n) { add<<<padded_n / 256, 256>>>(x, padded_n); }
void asked(float *x, int n) {
  if (n % 256 != 0) throw std::invalid_argument("n");
  add<<<n / 256, 256>>>(x, n);
}
void made_whole(float *x, int m) {
  int n = (m + 255) / 256 * 256;
  add<<<n / 256, 256>>>(x, n);
}
void enlarged(float *x, int n) {
  while (n & 255) ++n;
  add<<<n / 256, 256>>>(x, n);
}
void by_a_loop_of_the_grid(float *x, int n) { strided<<<n / 256, 256>>>(x, n); }
void of_a_kernel_elsewhere(float *x, int n) { declared<<<n / 256, 256>>>(x, n); }
void of_another_number(float *x, int n) { add<<<n / 1024, 256>>>(x, n); }
void of_a_fraction(float *x, float n) { add<<<ceil(n / 256.0f), 256>>>(x, n); }
void of_an_expression(float *x, int n, int m) { add<<<n * m / 256, 256>>>(x, n); }
struct Engine {
  int threads, groups, group_size;
  void set(int count, int size) { groups = count, group_size = size; threads = groups * group_size; }
  void launch(float *x) { add<<<threads / group_size, group_size>>>(x, threads); }
};

// Launches of one thread, or of one block alone, whose kernel walks the data.
#define ONE 1
__global__ void walk(float *x, int n) {
  for (int i = 0; i < n; ++i) x[i] += 1;
}
__global__ void walk_of_block(float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1;
}
__global__ void seed(unsigned *state) { state[threadIdx.x] = 1; }
__global__ void short_walk(float *x) {
  for (int i = 0; i < 4; ++i) x[i] += 1;
}
void one_thread(float *x, int n) {
  walk<<<1, 1>>>(x, n);  // expect: underfilled-device
}
void one_thread_by_dim3(float *x, int n) {
  walk<<<dim3(1, 1), dim3(1, 1, 1)>>>(x, n);  // expect: underfilled-device
}
void one_thread_by_names(float *x, int n) {
  dim3 grid(1), block(1);
  walk<<<grid, block>>>(x, n);  // expect: underfilled-device
}
void one_thread_by_macro(float *x, int n) {
  walk<<<ONE, ONE>>>(x, n);  // expect: underfilled-device
}
void one_block(float *x, int n) {
  walk_of_block<<<1, 256>>>(x, n);  // expect: underfilled-device
}
void one_block_in_a_stream(float *x, int n, cudaStream_t s) {
  walk_of_block<<<1, 1024, 0, s>>>(x, n);  // expect: underfilled-device
}
void one_thread_of_several_launches(float *x, int n) {
  seed<<<64, 256>>>(nullptr);
  walk<<<1, 1>>>(x, n);  // expect: underfilled-device
}
void many_blocks(float *x, int n) { walk_of_block<<<n / 256, 256>>>(x, n); }
void grid_that_is_handed_in(float *x, int n, int grid) { walk_of_block<<<grid, 256>>>(x, n); }
void last_step_of_a_sum(float *x, int n) {
  walk_of_block<<<n / 256, 256>>>(x, n);
  walk_of_block<<<1, 256>>>(x, n / 256);
}
void no_walk(unsigned *state) { seed<<<1, 1>>>(state); }
void short_loop(float *x) { short_walk<<<1, 1>>>(x); }
void kernel_of_another_file(float *x, int n) { elsewhere<<<1, 1>>>(x, n); }
void two_blocks(float *x, int n) { walk_of_block<<<2, 256>>>(x, n); }
void many_blocks_of_one(float *x, int n) { walk<<<n, 1>>>(x, n); }
void grid_that_changes(float *x, int n) {
  int blocks = 1;
  if (n > 256) blocks = n / 256;
  walk_of_block<<<blocks, 256>>>(x, n);
}
void grid_of_rows(float *x, int n) { walk_of_block<<<dim3(1, n), 256>>>(x, n); }
void not_a_launch(float *x, int n) {
  for (int i = 0; i < n; ++i) x[i] += 1;
}
void block_of_the_device(float *x, int n, int sms) { walk_of_block<<<sms, 256>>>(x, n); }
__global__ void item_of_a_batch(float *x, int n) {
  float *item = x + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) item[i] += 1;
}
__global__ void part_of_an_item(float *x, int n) {
  float *item = x + blockIdx.y * n;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) item[i] += 1;
}
void a_block_for_each_item(float *x, int batch_size, int n) {
  item_of_a_batch<<<batch_size, 256>>>(x, n);  // expect: underfilled-device
  item_of_a_batch<<<batch_size, 512>>>(x, n);
}
void with_a_dim3(float *x, int batch, int n) {
  dim3 grid(batch);
  item_of_a_batch<<<grid, 256>>>(x, n);  // expect: underfilled-device
}
void written_on_the_spot(float *x, int b, int n) {
  item_of_a_batch<<<dim3(b), 256>>>(x, n);  // expect: underfilled-device
}
void several_blocks_for_each_item(float *x, int batch, int n) {
  part_of_an_item<<<dim3(64, batch), 256>>>(x, n);
}
void a_block_for_each_row(float *x, int rows, int n) { item_of_a_batch<<<rows, 256>>>(x, n); }
void one_element_each(float *x, int batch) { seed<<<batch, 256>>>(nullptr); }
void elements_after_others(float *x, int n) {
  seed<<<64, 256>>>(nullptr);
  add_in_one_block<<<1, 256>>>(x, n);  // expect: underfilled-device
}
__global__ void add_in_one_block(float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1;
}
//---
struct Sizes { int groups; };
__global__ void by_an_exit(const Sizes *sizes, const float *x, float *largest) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (int i = 0; i < sizes->groups; ++i) *largest = fmaxf(*largest, x[i]);  // expect: underfilled-device
}
__global__ void by_a_number(const float *x, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    for (int k = 0; k < n; ++k) sum[k] = x[k];  // expect: underfilled-device
  }
}
__global__ void by_both(const float *x, float *sum, int n) {
  if (threadIdx.x == 0 && blockIdx.x == 0)
    for (int k = 0; k < n; ++k) sum[k] = x[k];  // expect: underfilled-device
}
__global__ void one_of_each_block(const float *x, float *sum, int n) {
  if (threadIdx.x == 0)
    for (int k = 0; k < n; ++k) sum[blockIdx.x] += x[blockIdx.x * n + k];
}
__global__ void the_first_block(const float *x, float *sum, int n) {
  if (blockIdx.x != 0) return;
  for (int k = threadIdx.x; k < n; k += blockDim.x) sum[k] = x[k];
}
__global__ void either(const float *x, float *sum, int n) {
  if (threadIdx.x == 0 || blockIdx.x == 0)
    for (int k = 0; k < n; ++k) sum[k] = x[k];
}
__global__ void a_few(const float *x, float *sum) {
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (int k = 0; k < 4; ++k) sum[k] = x[k];
}
__global__ void all_but_one(const float *x, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) return;
  for (int k = 0; k < n; ++k) sum[i] += x[i * n + k];
}
__global__ void farthest(float *d, const float *x, int n, int m) {
  for (int s = 0; s < m; ++s) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) d[i] = min(d[i], x[i]);
    __syncthreads();
  }
}
void in_step(float *d, float *x, int batch, int n, int m) { farthest<<<batch, 256>>>(d, x, n, m); }
//---
// Grids of fixed size.
__global__ void strided(float *x, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i < n; i += gridDim.x * blockDim.x) x[i] += 1;
}
__global__ void by_batch(float *x, int b, int n) {
  for (int i = blockIdx.x; i < b; i += gridDim.x)
    for (int j = threadIdx.x + blockIdx.y * blockDim.x; j < n; j += blockDim.x * gridDim.y) x[i * n + j] += 1;
}
__global__ void one_each(float *x, int rounds) {
  for (int r = 0; r < rounds; ++r) x[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}
void few_blocks(float *x, size_t n) {
  strided<<<60, 1024>>>(x, n);  // expect: underfilled-device
}
void few_in_two_dimensions(float *x, int b, int n) {
  by_batch<<<dim3(1, 16, 1), 256>>>(x, b, n);  // expect: underfilled-device
}
void many_blocks(float *x, size_t n) { strided<<<1024, 256>>>(x, n); }
void of_the_data(float *x, size_t n) { strided<<<(n + 255) / 256, 256>>>(x, n); }
void as_many_as_there_are(float *x, int n) { one_each<<<60, 256>>>(x, n); }
__global__ void block_for_an_item(float *x, int b, int n) {
  for (int i = blockIdx.x; i < b; i += gridDim.x)
    for (int j = threadIdx.x; j < n; j += blockDim.x) x[i * n + j] += 1;
}
void few_items(float *x, int b, int n) { block_for_an_item<<<32, 512>>>(x, b, n); }

// Memory that a loop allocates and frees in each iteration.
void in_loop(int n) {
  for (int i = 0; i < n; ++i) {
    float *a;
    cudaMalloc(&a, 4);  // expect: repeated-allocations
    cudaFree(a);
  }
}
void checked(int n) {
  float *a;
  while (n-- > 0) {
    CHECK(cudaMalloc((void **)&a, n));  // expect: repeated-allocations
    work(a);
    CHECK(cudaFree(a));
  }
}
void once(int n) {
  float *a;
  cudaMalloc(&a, n);
  for (int i = 0; i < n; ++i) work(a);
  cudaFree(a);
}
void kept(float **a, int n) {
  for (int i = 0; i < n; ++i) cudaMalloc(&a[i], 4);
}
void freed_later(float **a, int n) {
  for (int i = 0; i < n; ++i) cudaMalloc(&a[i], 4);
  for (int i = 0; i < n; ++i) cudaFree(a[i]);
}
void from_pool(int n, cudaStream_t s) {
  float *a;
  for (int i = 0; i < n; ++i) {
    cudaMallocAsync(&a, 4, s);
    cudaFreeAsync(a, s);
  }
}
cudaError_t run_once(float *a) {
  cudaError_t e;
  do {
    if ((e = cudaMalloc(&a, 4))) break;
    if ((e = cudaFree(a))) break;
  } while (0);
  return e;
}
void pinned(int n) {
  float *h;
  for (int i = 0; i < n; ++i) {
    cudaMallocHost(&h, 4);  // expect: repeated-allocations
    cudaFreeHost(h);
  }
}
void other_pointer(float *a, float *b, int n) {
  for (int i = 0; i < n; ++i) {
    cudaFree(a);
    cudaMalloc(&b, 4);
  }
}
void host_memory(int n) {
  for (int i = 0; i < n; ++i) {
    float *a = (float *)malloc(4);
    free(a);
  }
}
void per_call(float *a) {
  cudaMalloc(&a, 4);
  cudaFree(a);
}
void range_loop(std::vector<int> &sizes) {
  for (int size : sizes) {
    void *a = nullptr;
    cudaMallocManaged(&a, size);  // expect: repeated-allocations
    cudaFree(a);
  }
}
void cast(int n) {
  int *p;
  for (;;) {
    cudaMalloc(reinterpret_cast<void **>(&p), n);  // expect: repeated-allocations
    if (!p) break;
    cudaFree(p);
  }
}
void several_at_once(int n) {
  for (int i = 0; i < n; ++i) {
    float *a, *b;
    cudaMalloc(&a, n);  // expect: repeated-allocations
    cudaMalloc(&b, n);
    kernel<<<1, 32>>>(a, b);
    cudaFree(b);
    cudaFree(a);
  }
}
// Programs that try one size after the other measure something else.
void sizes_tried(int n) {
  for (int size = 1; size < n; size *= 2) {
    float *a;
    cudaMalloc(&a, size);
    for (int i = 0; i < 100; ++i) kernel<<<1, 32>>>(a);
    cudaFree(a);
  }
}
void host_data(int n) {
  for (int i = 0; i < n; ++i) {
    float *h = (float *)malloc(n), *a;
    cudaMalloc(&a, n);
    cudaMemcpy(a, h, n, cudaMemcpyHostToDevice);
    cudaFree(a);
    free(h);
  }
}
void timed(int n) {
  for (int i = 0; i < n; ++i) {
    float *a;
    auto start = std::chrono::steady_clock::now();
    cudaMalloc(&a, n);
    cudaFree(a);
    report(std::chrono::steady_clock::now() - start);
  }
}
void one_launch_each(int n) {
  while (n--) {
    float *a;
    cudaMalloc(&a, n);  // expect: repeated-allocations
    kernel<<<1, 32>>>(a);
    cudaFree(a);
  }
}
//---
__global__ void add(float *y, const float *x, float *scratch) { y[threadIdx.x] += x[threadIdx.x] + scratch[0]; }
float *cuda_make_array(float *x, int n);
void cuda_free(float *x);
void given_device_memory(float *y, const float *x, int n) {
  float *scratch;
  cudaMalloc(&scratch, n);  // expect: repeated-allocations
  add<<<n, 32>>>(y, x, scratch);
  cudaFree(scratch);
}
void by_wrappers(float *y, const float *x, float *weights, int n) {
  float *scratch = cuda_make_array(weights, n);  // expect: repeated-allocations
  add<<<n, 32>>>(y, x, scratch);
  cuda_free(scratch);
}
void given_host_memory(float *h, int n) {
  float *x;
  cudaMalloc(&x, n);  // expect: repeated-allocations
  cudaMemcpy(x, h, n, cudaMemcpyHostToDevice);
  add<<<n, 32>>>(x, x, x);
  cudaFree(x);
}
void kept(float *y, const float *x, int n, float **scratch) {
  cudaMalloc(scratch, n);
  add<<<n, 32>>>(y, x, *scratch);
}
void many_launches(float *y, const float *x, int n) {
  float *scratch;
  cudaMalloc(&scratch, n);
  for (int i = 0; i < n; ++i) add<<<n, 32>>>(y, x, scratch);
  cudaFree(scratch);
}
void called_once(float *y, const float *x, int n) {
  float *scratch;
  cudaMalloc(&scratch, n);
  add<<<n, 32>>>(y, x, scratch);
  cudaFree(scratch);
}
int main() { called_once(nullptr, nullptr, 4); }
void init_sums(float *y, const float *x, int n) {
  float *scratch;
  cudaMalloc(&scratch, n);
  add<<<n, 32>>>(y, x, scratch);
  cudaFree(scratch);
}
void how_much_there_is(int most) {
  for (int n = 1; n <= most; ++n) {
    const size_t size = size_t(n) << 30;
    float *x;
    cudaMalloc(&x, size);
    cudaFree(x);
  }
}
//---
// Memory that each call allocates, by functions of the program's own.
__global__ void add(float *y, const float *x) { y[threadIdx.x] += x[threadIdx.x]; }
struct Solver { float *x_, *y_; void release(); void resize(int n); void solve(int n); void grow(int n); };
void *Device::allocate(void *p, int n) {
  if (cudaMalloc(&p, n) != cudaSuccess) throw std::bad_alloc();
  return p;
}
void Device::release(void *p) { cudaFree(p); }
void Device::sum(float *h, int n) {
  float *x = nullptr;
  x = (float *)this->allocate(x, n);  // expect: repeated-allocations
  this->upload(x, h);
  add<<<n, 32>>>(x, x);
  this->download(h, x);
  release(x);
}
void Device::sum_of_kept(float *h, int n) {
  upload(x_, h);
  add<<<n, 32>>>(x_, x_);
  download(h, x_);
}
void Solver::release() {
  cudaFree(x_);
  cudaFree(y_);
}
void Solver::resize(int n) {
  CHECK(cudaMalloc(&x_, n));
  CHECK(cudaMalloc(&y_, n));
}
void Solver::solve(int n) {
  release();  // expect: repeated-allocations
  resize(n);
  add<<<n, 32>>>(y_, x_);
}
void Solver::grow(int n) {
  if (n > capacity_) {
    release();
    resize(n);
  }
  add<<<n, 32>>>(y_, x_);
}
Solver::Solver(int n) {
  release();
  resize(n);
}
cudaError_t checked(float *h, int n) {
  float *x = nullptr;
  cudaError_t status = cudaMalloc((void **)&x, n);  // expect: repeated-allocations
  if (status != cudaSuccess) goto Error;
  cudaMemcpy(x, h, n, cudaMemcpyHostToDevice);
  add<<<n, 32>>>(x, x);
  status = cudaMemcpy(h, x, n, cudaMemcpyDeviceToHost);
Error:
  cudaFree(x);
  return status;
}
void of_a_frame(float *h, int n) {
  float *x;
  if (cudaMalloc(&x, n) != cudaSuccess) return;  // expect: repeated-allocations
  add<<<n, 32>>>(x, x);
  cudaFree(x);
}
void frames(float *h, int n) {
  for (int i = 0; i < n; ++i) of_a_frame(h, n);
}
void when_asked(float *h, int n, bool twice) {
  float *x;
  if (twice) cudaMalloc(&x, n);
  add<<<n, 32>>>(x, x);
  if (twice) cudaFree(x);
}
void made_elsewhere(std::vector<float> &h, int n) {
  float *x = uploaded(h);  // expect: repeated-allocations
  add<<<n, 32>>>(x, x);
  CHECK(cudaMemcpy(&h[0], x, n, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(x));
}
void found_elsewhere(Pool &pool, int n) {
  float *x = pool.find(n);
  add<<<n, 32>>>(x, x);
}

// One value that each iteration of a loop with launches copies to the host.
__global__ void step(float *x, int *flag) { x[threadIdx.x] += 1; *flag = 0; }
__device__ bool finished;
void until_settled(float *x, int *flag) {
  int changed = 1;
  while (changed) {
    step<<<64, 256>>>(x, flag);
    cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);  // expect: values-read-in-loops
  }
}
void with_a_break(float *x, int *flag, int n) {
  for (int i = 0; i < n; ++i) {
    int changed;
    step<<<64, 256>>>(x, flag);
    cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);  // expect: values-read-in-loops
    if (!changed) break;
  }
}
void of_a_symbol(float *x, int *flag) {
  bool over = false;
  do {
    step<<<64, 256>>>(x, flag);
    cudaMemcpyFromSymbol(&over, finished, sizeof(bool));  // expect: values-read-in-loops
  } while (!over);
}
void kept(float *x, int *flag, int n, std::vector<float> &history) {
  for (int i = 0; i < n; ++i) {
    float best;
    step<<<64, 256>>>(x, flag);
    CHECK(cudaMemcpy(&best, x, sizeof(float), cudaMemcpyDeviceToHost));  // expect: values-read-in-loops
    history.push_back(best);
  }
}
void two_values(float *x, int *flag, int n) {
  for (int i = 0; i < n; ++i) {
    float a, b;
    step<<<64, 256>>>(x, flag);
    cudaMemcpy(&a, x, sizeof(float), cudaMemcpyDeviceToHost);  // expect: values-read-in-loops
    cudaMemcpy(&b, x + 1, sizeof(float), cudaMemcpyDeviceToHost);
    use(a, b);
  }
}
void launch(float *x, int *flag) { step<<<64, 256>>>(x, flag); }
void by_a_function(float *x, int *flag) {
  int changed = 1;
  while (changed) {
    launch(x, flag);
    cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);  // expect: values-read-in-loops
  }
}
void after_the_loop(float *x, int *flag, int n) {
  int changed;
  for (int i = 0; i < n; ++i) step<<<64, 256>>>(x, flag);
  cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);
}
void now_and_then(float *x, int *flag, int n) {
  int changed = 1;
  for (int i = 0; i < n && changed; ++i) {
    step<<<64, 256>>>(x, flag);
    if (i % 16 == 0) cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);
  }
}
void many_steps_between(float *x, int *flag) {
  int changed = 1;
  while (changed) {
    for (int i = 0; i < 8; ++i) step<<<64, 256>>>(x, flag);
    cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);
  }
}
void an_array(float *x, int *flag, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, flag);
    cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  }
}
void to_the_device(float *x, int *flag, int n) {
  for (int i = 0; i < n; ++i) {
    cudaMemcpy(flag, &i, sizeof(int), cudaMemcpyHostToDevice);
    step<<<64, 256>>>(x, flag);
  }
}
void an_element(float *x, int *flag, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256>>>(x, flag);
    cudaMemcpy(&h[i], x, n * 4, cudaMemcpyDeviceToHost);
  }
}
void without_launches(float *x, float *h, int n) {
  for (int i = 0; i < n; ++i) {
    float value;
    cudaMemcpy(&value, x + i, sizeof(float), cudaMemcpyDeviceToHost);
    h[i] = value;
  }
}
void measured(float *x, int *flag, int n) {
  for (int i = 0; i < n; ++i) {
    auto start = std::chrono::steady_clock::now();
    int changed;
    step<<<64, 256>>>(x, flag);
    cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);
    print(std::chrono::steady_clock::now() - start);
  }
}
void asynchronous(float *x, int *flag, int *pinned, int n, cudaStream_t s) {
  for (int i = 0; i < n; ++i) {
    step<<<64, 256, 0, s>>>(x, flag);
    cudaMemcpyAsync(pinned, flag, sizeof(int), cudaMemcpyDeviceToHost, s);
  }
}
void once(float *x, int *flag) {
  int changed;
  step<<<64, 256>>>(x, flag);
  cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);  // expect: values-read-in-loops
}
void to_a_symbol(float *x, int *flag, int n) {
  for (int i = 0; i < n; ++i) {
    bool no = false;
    cudaMemcpyToSymbol(finished, &no, sizeof(bool));
    step<<<64, 256>>>(x, flag);
  }
}
//---
// Scalars of cuBLAS.
void launch(float *x, int *flag) { step<<<64, 256>>>(x, flag); }
void conjugate_gradients(cublasHandle_t h, int n, double *r, double *p, double *q, double *x, int most) {
  double norm, alpha, pq, rho;
  for (int k = 0; k < most; ++k) {
    CHECK(cublasDnrm2(h, n, r, 1, &norm));  // expect: values-read-in-loops
    if (norm < 1e-9) break;
    cublasDdot_v2(h, n, p, 1, q, 1, &pq);  // expect: values-read-in-loops
    alpha = rho / pq;
    cublasDaxpy(h, n, &alpha, p, 1, x, 1);
  }
}
void largest_once(cublasHandle_t h, int n, float *x, int *at) { cublasIsamax(h, n, x, 1, at); }
void kept_where_a_pointer_leads(cublasHandle_t h, int n, float *x, float *sums, int most) {
  for (int k = 0; k < most; ++k) cublasSdot(h, n, x, 1, x, 1, sums + k);
}
//---
void on_the_device(cublasHandle_t h, int n, float *x, float *y, int most) {
  cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
  for (int k = 0; k < most; ++k) cublasSdot(h, n, x, 1, y, 1, &x[k]);
}
float sum_of(float *x, float *result, int n) {
  float sum;
  add<<<(n + 255) / 256, 256>>>(x, result, n);
  cudaMemcpy(&sum, result, sizeof(float), cudaMemcpyDeviceToHost);  // expect: values-read-in-loops
  return sum;
}
void before_more_work(float *x, int *count, int n) {
  int found = 0;
  mark<<<n, 256>>>(x, count);
  cudaMemcpy(&found, count, sizeof(int), cudaMemcpyDeviceToHost);  // expect: values-read-in-loops
  move<<<(found + 255) / 256, 256>>>(x, found);
}
float without_a_launch(float *result) {
  float sum;
  cudaMemcpy(&sum, result, sizeof(float), cudaMemcpyDeviceToHost);
  return sum;
}
float test_of_a_sum(float *x, float *result, int n) {
  float sum;
  add<<<(n + 255) / 256, 256>>>(x, result, n);
  cudaMemcpy(&sum, result, sizeof(float), cudaMemcpyDeviceToHost);
  return sum;
}
void whole_array(float *x, float *host, int n) {
  add<<<(n + 255) / 256, 256>>>(x, x, n);
  cudaMemcpy(host, x, n * sizeof(float), cudaMemcpyDeviceToHost);
}

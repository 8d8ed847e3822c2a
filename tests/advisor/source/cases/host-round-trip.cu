// Arrays that come to the host between two steps on the device.
__global__ void step(float *x) { x[threadIdx.x] += 1; }
float sum_of_parts(float *parts, int blocks) {
  float *h = (float *)malloc(blocks * 4), sum = 0;
  step<<<64, 256>>>(parts);
  cudaMemcpy(h, parts, blocks * 4, cudaMemcpyDeviceToHost);  // expect: host-round-trip
  for (int i = 0; i < blocks; ++i) sum += h[i];
  return sum;
}
float largest(float *x, std::vector<float> &h, int n) {
  float best = 0;
  step<<<64, 256>>>(x);
  CHECK(cudaMemcpyAsync(h.data(), x, n * 4, cudaMemcpyDeviceToHost));  // expect: host-round-trip
  for (int i = 0; i < n; ++i) best = std::max(best, h[i]);
  return best;
}
void through_a_pointer(unsigned *mask, int boxes, int columns, unsigned *removed) {
  std::vector<unsigned> h(boxes * columns);
  step<<<64, 256>>>((float *)mask);
  cudaMemcpy(&h[0], mask, boxes * columns * 4, cudaMemcpyDeviceToHost);  // expect: host-round-trip
  for (int i = 0; i < boxes; ++i) {
    unsigned *p = &h[0] + i * columns;
    for (int j = 0; j < columns; ++j) removed[j] |= p[j];
  }
}
void changed_on_the_way(float *x, float *h, int n) {
  step<<<64, 256>>>(x);
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);  // expect: host-round-trip
  for (int i = 1; i < n; ++i) h[i] += h[i - 1];
  cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice);
  step<<<64, 256>>>(x);
}
void to_the_neighbour(float **x, float *h, int devices, int n) {
  for (int d = 0; d + 1 < devices; ++d) {
    step<<<64, 256>>>(x[d]);
    cudaMemcpy(h, x[d], n, cudaMemcpyDeviceToHost);  // expect: host-round-trip
    cudaMemcpy(x[d + 1], h, n, cudaMemcpyHostToDevice);
  }
}
torch::Tensor sorted_by_the_host(torch::Tensor x, torch::Tensor keys) {
  torch::Tensor k = keys.to(torch::kCPU);  // expect: host-round-trip
  return x.index({torch::argsort(k).to(torch::kCUDA)});
}
void in_each_iteration(torch::Tensor x, torch::Tensor keys, int most) {
  for (int i = 0; i < most; ++i) {
    step<<<64, 256>>>(x.data_ptr<float>());
    x = sorted_by_the_host(x, keys);
  }
}
void directly_in_the_loop(torch::Tensor x, int most) {
  for (int i = 0; i < most; ++i) {
    step<<<64, 256>>>(x.data_ptr<float>());
    use(x.cpu());  // expect: host-round-trip
  }
}
void once(torch::Tensor x, torch::Tensor keys, int most) {
  torch::Tensor k = keys.to(torch::kCPU);
  for (int i = 0; i < most; ++i) step<<<64, 256>>>(x.data_ptr<float>());
}
void onto_the_device(torch::Tensor x, int most) {
  for (int i = 0; i < most; ++i) step<<<64, 256>>>(x.to(torch::kCUDA).data_ptr<float>());
}
float check_sum(float *x, float *h, int n) {
  float sum = 0;
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) sum += h[i];
  return sum;
}
float compared(float *x, float *h, const float *expected, int n) {
  float sum = 0;
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) sum += fabs(h[i] - expected[i]);
  return sum;
}
int faults(float *x, float *h, int n) {
  int errors = 0;
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) errors += h[i] != 1;
  return errors;
}
float few(float *x, float *h, int n) {
  float sum = 0;
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 8; ++i) sum += h[i];
  return sum;
}
void handed_out(float *x, float *h, int n) {
  step<<<64, 256>>>(x);
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
}
void other_elements(float *x, float *h, const float *g, int n) {
  float sum = 0;
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) sum += g[i];
  use(sum, h);
}
float before_the_copy(float *x, float *h, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += h[i];
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  return sum;
}
float the_same_one(float *x, float *h, int n) {
  float sum = 0;
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) sum += h[0];
  return sum;
}
void one_value(float *x, float *y) {
  float h;
  cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
  h += 1;
  cudaMemcpy(y, &h, 4, cudaMemcpyHostToDevice);
}
void looked_at_by_others(float *x, float *h, int n) {
  cudaMemcpy(h, x, n, cudaMemcpyDeviceToHost);
  solve_on_the_host(h, n);
  cudaMemcpy(x, h, n, cudaMemcpyHostToDevice);
}
void other_array(float *x, float *h, float *g, int n) {
  cudaMemcpy(h, x, n, cudaMemcpyDeviceToHost);
  cudaMemcpy(x, g, n, cudaMemcpyHostToDevice);
}
void each_at_its_place(float *x, float *h, float *y, int n) {
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) y[i] = h[i];
}
float of_a_member(Model *model, int n) {
  float sum = 0;
  step<<<64, 256>>>(model->losses);
  cudaMemcpy(model->host, model->losses, n * 4, cudaMemcpyDeviceToHost);  // expect: host-round-trip
  for (int i = 0; i < n; ++i) sum += model->host[i];
  return sum;
}
float of_another_member(Model *model, int n) {
  float sum = 0;
  cudaMemcpy(model->host, model->losses, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) sum += model->weights[i];
  return sum;
}
void cleared_on_the_host(float *x, float *h, int n) {
  cudaMemcpy(h, x, n * 4, cudaMemcpyDeviceToHost);
  use(h);
  for (int i = 0; i < n; ++i) h[i] = 0;
  cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice);
}
int main() {
  float *x, *h;
  cudaMemcpy(h, x, 1024, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 256; ++i) h[i] = i;
  cudaMemcpy(x, h, 1024, cudaMemcpyHostToDevice);
}

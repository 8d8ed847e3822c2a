// Asynchronous copies whose host side is pageable.
void from_malloc(float *d, size_t n, cudaStream_t s) {
  float *h = (float *)malloc(n);
  cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, s);  // expect: pageable-transfers
}
void from_new(float *d, size_t n, cudaStream_t s) {
  float *h = new float[n];
  cudaMemcpyAsync(h, d, n, cudaMemcpyDeviceToHost, s);  // expect: pageable-transfers
}
void from_a_vector(float *d, size_t n, cudaStream_t s) {
  std::vector<float> h(n);
  cudaMemcpyAsync(d, h.data(), n * 4, cudaMemcpyHostToDevice, s);  // expect: pageable-transfers
}
void from_an_element(float *d, size_t n, cudaStream_t s) {
  std::vector<float> h(n);
  cudaMemcpyAsync(d, &h[0], n * 4, cudaMemcpyHostToDevice, s);  // expect: pageable-transfers
}
void from_an_array(float *d, cudaStream_t s) {
  float h[4096];
  cudaMemcpyAsync(d, h, sizeof(h), cudaMemcpyHostToDevice, s);  // expect: pageable-transfers
}
void set_later(float *d, size_t n, cudaStream_t s) {
  float *h;
  h = (float *)calloc(n, 4);
  cudaMemcpyAsync(d, h + 1, n, cudaMemcpyHostToDevice, s);  // expect: pageable-transfers
}
void checked(float *d, size_t n, cudaStream_t s) {
  float *h = (float *)malloc(n);
  CHECK(cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, s));  // expect: pageable-transfers
}
void pinned(float *d, size_t n, cudaStream_t s) {
  float *h;
  cudaMallocHost((void **)&h, n);
  cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, s);
}
void pinned_by_flags(float *d, size_t n, cudaStream_t s) {
  float *h = nullptr;
  cudaHostAlloc(&h, n, cudaHostAllocDefault);
  cudaMemcpyAsync(d, h, n, cudaMemcpyHostToDevice, s);
}
void registered(float *d, size_t n, cudaStream_t s) {
  float *mine = (float *)malloc(n);
  cudaHostRegister(mine, n, 0);
  cudaMemcpyAsync(d, mine, n, cudaMemcpyHostToDevice, s);
}
void handed_in(float *d, const float *from, size_t n, cudaStream_t s) {
  cudaMemcpyAsync(d, from, n, cudaMemcpyHostToDevice, s);
}
void on_the_device(float *d, const float *from, size_t n, cudaStream_t s) {
  float *to = (float *)malloc(n);
  cudaMemcpyAsync(d, from, n, cudaMemcpyDeviceToDevice, s);
}
void blocking(float *d, size_t n) {
  float *to = (float *)malloc(n);
  cudaMemcpy(d, to, n, cudaMemcpyHostToDevice);
}
void of_either_kind(float *d, size_t n, bool pin, cudaStream_t s) {
  float *to = (float *)malloc(n);
  if (pin) to = pinned_buffer(n);
  cudaMemcpyAsync(d, to, n, cudaMemcpyHostToDevice, s);
}
void pointers_to_pinned(float *d, size_t n, cudaStream_t s) {
  float *to[2] = {pinned_buffer(n), pinned_buffer(n)};
  cudaMemcpyAsync(d, to[1], n, cudaMemcpyHostToDevice, s);
}
void of_a_pinned_vector(float *d, size_t n, cudaStream_t s) {
  std::vector<float, PinnedAllocator<float>> to(n);
  cudaMemcpyAsync(d, to.data(), n, cudaMemcpyHostToDevice, s);
}
void of_a_class(float *d, size_t n, cudaStream_t s) {
  PinnedBuffer to(n);
  cudaMemcpyAsync(d, to.data(), n, cudaMemcpyHostToDevice, s);
}
void of_a_member(Worker *w, size_t n, cudaStream_t s) {
  cudaMemcpyAsync(w->d, w->h, n, cudaMemcpyHostToDevice, s);
}
void of_another_function(float *d, size_t n, cudaStream_t s) {
  float *to = buffer_of(n);
  cudaMemcpyAsync(d, to, n, cudaMemcpyHostToDevice, s);
}
void of_no_stated_kind(float *d, size_t n, cudaStream_t s) {
  float *to = (float *)malloc(n);
  cudaMemcpyAsync(d, to, n, cudaMemcpyDefault, s);
}

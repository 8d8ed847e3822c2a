// CPU timers that are read while the GPU still works.
__global__ void kernel(float *a) { a[0] = 1; }
void by_clock(float *a) {
  clock_t t = clock();
  kernel<<<1, 32>>>(a);
  t = clock() - t;  // expect: unsynchronized-timers
}
void with_synchronisation(float *a) {
  clock_t t = clock();
  kernel<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  t = clock() - t;
}
void by_chrono(float *a) {
  auto begin = std::chrono::high_resolution_clock::now();
  kernel<<<1, 32>>>(a);
  auto end = std::chrono::high_resolution_clock::now();  // expect: unsynchronized-timers
}
void blocking_copy(float *a, float *b) {
  double t = omp_get_wtime();
  kernel<<<1, 32>>>(a);
  cudaMemcpy(b, a, 4, cudaMemcpyDeviceToHost);
  t = omp_get_wtime() - t;
}
void old_name(float *a, timeval *t) {
  gettimeofday(t, 0);
  kernel<<<1, 32>>>(a);
  CHECK(cudaThreadSynchronize());
  gettimeofday(t + 1, 0);
}
void asynchronous_copy(float *a, float *b, cudaStream_t s) {
  double t = omp_get_wtime();
  launch(a);
  kernel<<<1, 32, 0, s>>>(a);
  t = omp_get_wtime() - t;  // expect: unsynchronized-timers
}
void host_work(float *a) {
  clock_t t = clock();
  for (int i = 0; i < 9; ++i) a[i] = i;
  t = clock() - t;
}
void events_time_it(float *a, cudaEvent_t e, cudaEvent_t f, float *ms) {
  clock_t t = clock();
  kernel<<<1, 32>>>(a);
  t = clock() - t;
  cudaEventElapsedTime(ms, e, f);
}
void samples_timer(float *a, StopWatchInterface *timer) {
  sdkStartTimer(&timer);
  kernel<<<1, 32>>>(a);
  sdkStopTimer(&timer);  // expect: unsynchronized-timers
}
void samples_timer_restarted(float *a, StopWatchInterface *t) {
  sdkStartTimer(&t);
  sdkStopTimer(&t);
  kernel<<<1, 32>>>(a);
  sdkStartTimer(&t);
}
void unknown_helper(float *a) {
  clock_t t = clock();
  kernel<<<1, 32>>>(a);
  finish(a);
  t = clock() - t;
}
void started_after(float *a) {
  kernel<<<1, 32>>>(a);
  clock_t t = clock();
}
void by_stream(float *a, cudaStream_t s) {
  double t = get_time();
  kernel<<<1, 32, 0, s>>>(a);
  cudaStreamSynchronize(s);
  t = get_time() - t;
}
__global__ void on_the_device(long long *t) {
  t[0] = clock64();
  t[1] = clock64();
}
__global__ void nothing(int) {}
void cost_of_a_launch() {
  auto t = std::chrono::steady_clock::now();
  nothing<<<1, 1>>>(0);
  auto u = std::chrono::steady_clock::now();
}

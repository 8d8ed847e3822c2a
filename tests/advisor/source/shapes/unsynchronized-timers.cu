// Timers of the host around launches.
#include <chrono>
#include <cstdio>
#include <ctime>
using Clock = std::chrono::high_resolution_clock;
__global__ void kernel(float *a) { a[0] = 1; }
void with_an_alias(float *a) {
  auto start = Clock::now();
  kernel<<<64, 256>>>(a);
  auto stop = Clock::now();  // expect: unsynchronized-timers
  std::printf("%f\n", std::chrono::duration<double>(stop - start).count());
}
void repeated(float *a) {
  std::clock_t start = std::clock();
  for (int i = 0; i < 100; ++i) kernel<<<64, 256>>>(a);
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;  // expect: unsynchronized-timers
  std::printf("%f\n", seconds);
}
void synchronised(float *a) {
  cudaDeviceSynchronize();
  auto start = Clock::now();
  for (int i = 0; i < 100; ++i) kernel<<<64, 256>>>(a);
  cudaDeviceSynchronize();
  auto stop = Clock::now();
  std::printf("%f\n", std::chrono::duration<double>(stop - start).count());
}
void waited_by_an_event(float *a, cudaEvent_t done) {
  auto start = Clock::now();
  kernel<<<64, 256>>>(a);
  cudaEventRecord(done);
  cudaEventSynchronize(done);
  auto stop = Clock::now();
  std::printf("%f\n", std::chrono::duration<double>(stop - start).count());
}
void one_of_two_waits(float *a) {
  auto start = Clock::now();
  kernel<<<64, 256>>>(a);
  cudaDeviceSynchronize();
  auto middle = Clock::now();
  kernel<<<64, 256>>>(a);
  auto stop = Clock::now();  // expect: unsynchronized-timers
  std::printf("%f %f\n", std::chrono::duration<double>(middle - start).count(), std::chrono::duration<double>(stop - middle).count());
}
void by_the_system(float *a) {
  timespec first, last;
  clock_gettime(CLOCK_MONOTONIC, &first);
  kernel<<<64, 256>>>(a);
  clock_gettime(CLOCK_MONOTONIC, &last);  // expect: unsynchronized-timers
  std::printf("%ld\n", last.tv_nsec - first.tv_nsec);
}
void in_a_graph(cudaGraphExec_t graph, cudaStream_t s) {
  auto start = std::chrono::steady_clock::now();
  cudaGraphLaunch(graph, s);
  auto stop = std::chrono::steady_clock::now();  // expect: unsynchronized-timers
  std::printf("%f\n", std::chrono::duration<double>(stop - start).count());
}

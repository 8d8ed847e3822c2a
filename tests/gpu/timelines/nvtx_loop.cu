// A loop that loads, computes and reads back, each part marked by a range of NVTX.
//
// nvtx_loop before|after [REPEATS]: before, the host makes each batch while the GPU waits; after,
// a thread makes the next one meanwhile. With REPEATS the seconds of one step are printed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <chrono>
#include <thread>
#include <vector>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

constexpr int kCount = 1 << 20, kSteps = 10;

__global__ void smooth(const float* in, float* out, int count, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = in[i];
  for (int round = 0; round < rounds; ++round) value = value * 0.999f + 0.001f * (i % 7);
  out[i] = value;
}

static void load_batch(float* batch, int step) {
  nvtxRangePushA("load_batch");
  for (int i = 0; i < kCount / 4; ++i) batch[i] = std::sin(i * 0.001f + step);
  nvtxRangePop();
}

static void step_of(const float* batch, float* in, float* out, float* result) {
  nvtxRangePushA("compute");
  cudaMemcpyAsync(in, batch, kCount * sizeof(float), cudaMemcpyHostToDevice);
  smooth<<<kCount / 256, 256>>>(in, out, kCount, 60000);
  cudaMemcpyAsync(result, out, 4096, cudaMemcpyDeviceToHost);
  nvtxRangePop();
}

static void run(bool threaded, float* batches[2], float* in, float* out, float* result) {
  load_batch(batches[0], 0);
  for (int step = 0; step < kSteps; ++step) {
    nvtxRangePushA("step");
    float* next = batches[(step + 1) % 2];
    if (threaded) {
      step_of(batches[step % 2], in, out, result);
      std::thread worker(load_batch, next, step + 1);
      nvtxRangePushA("wait for the result");
      cudaStreamSynchronize(0);
      worker.join();
      nvtxRangePop();
    } else {
      step_of(batches[step % 2], in, out, result);
      nvtxRangePushA("wait for the result");
      cudaStreamSynchronize(0);
      nvtxRangePop();
      load_batch(next, step + 1);
    }
    nvtxRangePop();
  }
}

int main(int argc, char** argv) {
  bool threaded = argc > 1 && !strcmp(argv[1], "after");
  float *batches[2], *in, *out, *result;
  for (auto& batch : batches) cudaMallocHost(&batch, kCount * sizeof(float));
  cudaMallocHost(&result, 4096);
  cudaMalloc(&in, kCount * sizeof(float));
  cudaMalloc(&out, kCount * sizeof(float));
  run(threaded, batches, in, out, result);
  if (argc > 2) {
    printf("{\"case\": \"nvtx_loop_%s\", \"seconds\": [", argv[1]);
    for (int repeat = 0; repeat < atoi(argv[2]); ++repeat) {
      auto begin = std::chrono::steady_clock::now();
      run(threaded, batches, in, out, result);
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      printf("%s%.9f", repeat ? ", " : "", seconds.count() / kSteps);
    }
    printf("]}\n");
    return 0;
  }
  cudaProfilerStart();
  run(threaded, batches, in, out, result);
  cudaProfilerStop();
  return 0;
}

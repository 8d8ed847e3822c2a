// Common faults of a CUDA program, each beside its repair: recorded by record_timelines.sh.
//
//   faults CASE [REPEATS]   does CASE once inside cudaProfilerStart/Stop, after one warm-up;
//                           with REPEATS it only times CASE and prints its seconds as JSON.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                               \
  do {                                                                            \
    cudaError_t status = (call);                                                  \
    if (status != cudaSuccess) {                                                  \
      fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));     \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)

constexpr size_t MiB = 1 << 20;
constexpr size_t BYTES = 16 * MiB;
constexpr int COPIES = 8;

__global__ void scale(float* data, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = data[i];
  for (int round = 0; round < rounds; ++round) value = value * 1.0001f + 0.5f;
  data[i] = value;
}

__global__ void stride_add(const float* a, const float* b, float* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = a[i] + b[i];
}

__global__ void tile_sum(const float* in, float* out, int n) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}

struct Memory {
  float *device, *second, *third, *managed;
  char *pageable, *pinned;
  cudaStream_t streams[4];
  cudaGraphExec_t graph;
};

static Memory m;
static const int N = BYTES / sizeof(float);

static void launch_tiny(cudaStream_t stream, int count) {
  for (int i = 0; i < count; ++i) scale<<<8, 256, 0, stream>>>(m.device, 2048, 1);
}

static void prepare() {
  CHECK(cudaMalloc(&m.device, COPIES * BYTES));
  CHECK(cudaMalloc(&m.second, COPIES * BYTES));
  CHECK(cudaMalloc(&m.third, COPIES * BYTES));
  CHECK(cudaMemset(m.device, 0, COPIES * BYTES));
  CHECK(cudaMemset(m.second, 0, COPIES * BYTES));
  CHECK(cudaMallocManaged(&m.managed, 4 * BYTES));
  m.pageable = static_cast<char*>(malloc(COPIES * BYTES));
  memset(m.pageable, 1, COPIES * BYTES);
  CHECK(cudaMallocHost(&m.pinned, COPIES * BYTES));
  memset(m.pinned, 1, COPIES * BYTES);
  for (auto& stream : m.streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(m.streams[0], cudaStreamCaptureModeThreadLocal));
  launch_tiny(m.streams[0], 1000);
  CHECK(cudaStreamEndCapture(m.streams[0], &graph));
  CHECK(cudaGraphInstantiate(&m.graph, graph, 0));
  CHECK(cudaDeviceSynchronize());
}

static void copies(char* host, cudaMemcpyKind kind) {
  for (int i = 0; i < COPIES; ++i) {
    char* device = reinterpret_cast<char*>(m.device) + i * BYTES;
    char* to = kind == cudaMemcpyHostToDevice ? device : host + i * BYTES;
    char* from = kind == cudaMemcpyHostToDevice ? host + i * BYTES : device;
    CHECK(cudaMemcpy(to, from, BYTES, kind));
  }
}

static void staged(int streams) {
  const int rounds = 3000;
  for (int i = 0; i < COPIES; ++i) {
    cudaStream_t stream = m.streams[i % streams];
    char* device = reinterpret_cast<char*>(m.device) + i * BYTES;
    char* host = m.pinned + i * BYTES;
    CHECK(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, stream));
    scale<<<N / 256, 256, 0, stream>>>(reinterpret_cast<float*>(device), N, rounds);
    CHECK(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, stream));
  }
}

static void busy_host(double seconds) {
  auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
  }
}

static void add(int threads, int grid) {
  for (int i = 0; i < 10; ++i)
    stride_add<<<grid, threads>>>(m.device, m.second, m.third, COPIES * N);
}

static void run(const char* name) {
  auto is = [name](const char* wanted) { return strcmp(name, wanted) == 0; };
  if (is("h2d_pageable")) copies(m.pageable, cudaMemcpyHostToDevice);
  else if (is("h2d_pinned")) copies(m.pinned, cudaMemcpyHostToDevice);
  else if (is("d2h_pageable")) copies(m.pageable, cudaMemcpyDeviceToHost);
  else if (is("d2h_pinned")) copies(m.pinned, cudaMemcpyDeviceToHost);
  else if (is("small_copies"))
    for (int i = 0; i < 1000; ++i)
      CHECK(cudaMemcpyAsync(m.device + 1024 * i, m.pinned + 4096 * i, 4096, cudaMemcpyHostToDevice));
  else if (is("one_copy"))
    CHECK(cudaMemcpyAsync(m.device, m.pinned, 4096 * 1000, cudaMemcpyHostToDevice));
  else if (is("serial")) staged(1);
  else if (is("staged")) staged(4);
  else if (is("tiny_launches")) launch_tiny(m.streams[0], 1000);
  else if (is("graph")) CHECK(cudaGraphLaunch(m.graph, m.streams[0]));
  else if (is("sync_each_step"))
    for (int i = 0; i < 200; ++i) {
      launch_tiny(m.streams[0], 2);
      CHECK(cudaMemcpyAsync(m.pinned, m.device, 4, cudaMemcpyDeviceToHost, m.streams[0]));
      CHECK(cudaStreamSynchronize(m.streams[0]));
    }
  else if (is("sync_once")) {
    launch_tiny(m.streams[0], 400);
    CHECK(cudaMemcpyAsync(m.pinned, m.device, 4, cudaMemcpyDeviceToHost, m.streams[0]));
    CHECK(cudaStreamSynchronize(m.streams[0]));
  } else if (is("host_gaps"))
    for (int i = 0; i < 10; ++i) {
      scale<<<N / 256, 256>>>(m.device, N, 20000);
      CHECK(cudaDeviceSynchronize());
      busy_host(5e-3);
    }
  else if (is("host_beside"))
    for (int i = 0; i < 10; ++i) {
      scale<<<N / 256, 256>>>(m.device, N, 20000);
      if (i + 1 < 10) busy_host(0.5e-3);
    }
  else if (is("alloc_in_loop"))
    for (int i = 0; i < 100; ++i) {
      float* scratch;
      CHECK(cudaMalloc(&scratch, BYTES));
      scale<<<N / 256, 256>>>(scratch, N, 100);
      CHECK(cudaFree(scratch));
    }
  else if (is("alloc_once"))
    for (int i = 0; i < 100; ++i) scale<<<N / 256, 256>>>(m.second, N, 100);
  else if (is("one_warp_blocks")) add(32, 132 * 32);
  else if (is("four_warp_blocks")) add(128, 132 * 16);
  else if (is("large_shared")) {
    // 100 KiB a block: two blocks an SM.
    CHECK(cudaFuncSetAttribute(tile_sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    for (int i = 0; i < 10; ++i)
      tile_sum<<<COPIES * N / 256, 256, 100 << 10>>>(m.device, m.third, COPIES * N);
  } else if (is("small_shared"))
    for (int i = 0; i < 10; ++i) tile_sum<<<COPIES * N / 256, 256, 1 << 10>>>(m.device, m.third, COPIES * N);
  else if (is("managed_faults") || is("managed_prefetched")) {
    for (int i = 0; i < 4 * N; ++i) m.managed[i] = 1.f;
    if (is("managed_prefetched")) {
      cudaMemLocation place{};
      place.type = cudaMemLocationTypeDevice;
      place.id = 0;
      CHECK(cudaMemPrefetchAsync(m.managed, 4 * BYTES, place, 0, 0));
    }
    scale<<<4 * N / 256, 256>>>(m.managed, 4 * N, 10);
  } else {
    fprintf(stderr, "no case %s\n", name);
    exit(2);
  }
  CHECK(cudaDeviceSynchronize());
}

int main(int count, char** words) {
  const char* name = words[1];
  prepare();
  run(name);
  int repeats = count > 2 ? atoi(words[2]) : 0;
  if (repeats == 0) {
    CHECK(cudaProfilerStart());
    run(name);
    CHECK(cudaProfilerStop());
    return 0;
  }
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    auto begin = std::chrono::steady_clock::now();
    run(name);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  printf("{\"case\": \"%s\", \"seconds\": [", name);
  for (size_t i = 0; i < seconds.size(); ++i) printf("%s%.9f", i ? ", " : "", seconds[i]);
  printf("]}\n");
  return 0;
}

// Many atomic additions to one place: a sum in global memory, a histogram of few bins in shared
// memory, and a histogram straight in global memory. The twins add privately first.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 22, BLOCK = 256, LANES = 32;

__global__ void sum_by_atomics(const float *in, float *sum) {
    atomicAdd(sum, in[blockIdx.x * BLOCK + threadIdx.x]);
}

__global__ void sum_by_warps(const float *in, float *sum) {
    __shared__ float partial[BLOCK / LANES];
    float mine = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < N; i += gridDim.x * BLOCK) mine += in[i];
    for (int step = LANES / 2; step > 0; step /= 2) mine += __shfl_down_sync(0xFFFFFFFFU, mine, step);
    if (threadIdx.x % LANES == 0) partial[threadIdx.x / LANES] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (float part : partial) total += part;
        atomicAdd(sum, total);
    }
}

constexpr int PIXELS = 1 << 25, BINS = 256, COPIES = 32;

// Nine of ten pixels are black, as in a scanned page.
__host__ __device__ inline unsigned char pixel(size_t i) {
    unsigned number = mixed(i);
    return number % 10 ? 0 : (number >> 8) & 0xFF;
}

__global__ void histogram_shared(const unsigned char *pixels, unsigned *bins) {
    __shared__ unsigned counts[BINS];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < PIXELS / 4; i += gridDim.x * BLOCK) {
        uchar4 four = reinterpret_cast<const uchar4 *>(pixels)[i];
        atomicAdd(&counts[four.x], 1);
        atomicAdd(&counts[four.y], 1);
        atomicAdd(&counts[four.z], 1);
        atomicAdd(&counts[four.w], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}

// One copy of the bins per lane, in the lane's own bank.
__global__ void histogram_private(const unsigned char *pixels, unsigned *bins) {
    __shared__ unsigned counts[BINS * COPIES];
    for (int i = threadIdx.x; i < BINS * COPIES; i += BLOCK) counts[i] = 0;
    __syncthreads();
    int copy = threadIdx.x % COPIES;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < PIXELS / 4; i += gridDim.x * BLOCK) {
        uchar4 four = reinterpret_cast<const uchar4 *>(pixels)[i];
        atomicAdd(&counts[four.x * COPIES + copy], 1);
        atomicAdd(&counts[four.y * COPIES + copy], 1);
        atomicAdd(&counts[four.z * COPIES + copy], 1);
        atomicAdd(&counts[four.w * COPIES + copy], 1);
    }
    __syncthreads();
    unsigned count = 0;
    for (int k = 0; k < COPIES; ++k) count += counts[threadIdx.x * COPIES + (k + threadIdx.x) % COPIES];
    atomicAdd(&bins[threadIdx.x], count);
}

__global__ void histogram_global(const unsigned char *pixels, unsigned *bins) {
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < PIXELS / 4; i += gridDim.x * BLOCK) {
        uchar4 four = reinterpret_cast<const uchar4 *>(pixels)[i];
        atomicAdd(&bins[four.x], 1);
        atomicAdd(&bins[four.y], 1);
        atomicAdd(&bins[four.z], 1);
        atomicAdd(&bins[four.w], 1);
    }
}

void measure_histograms(Bench &bench, const char *kernel, void (*faulty)(const unsigned char *, unsigned *)) {
    std::vector<unsigned char> host(PIXELS);
    std::vector<double> expected(BINS, 0);
    for (size_t i = 0; i < PIXELS; ++i) {
        host[i] = pixel(i);
        ++expected[host[i]];
    }
    Buffer<unsigned char> pixels(host);
    Buffer<unsigned> bins(BINS);
    bench.output(bins, 0, [=](size_t bin) { return expected[bin]; }, 0);
    int blocks = multiprocessors() * 6;
    bench.run("fault", kernel, [&] { faulty<<<blocks, BLOCK>>>(pixels, bins); });
    bench.run("repair", "histogram_private", [&] { histogram_private<<<blocks, BLOCK>>>(pixels, bins); });
}
}  // namespace

CASE(atomics_on_one_address) {
    // Small whole numbers: their sum is exact in any order.
    std::vector<float> host = tabulated(N, [](size_t i) { return mixed(i) % 4; });
    double total = 0;
    for (float value : host) total += value;
    Buffer<float> in(host), sum(1);
    bench.output(sum, 0, [=](size_t) { return total; }, 1e-6);
    bench.run("fault", "sum_by_atomics", [&] { sum_by_atomics<<<N / BLOCK, BLOCK>>>(in, sum); });
    bench.run("repair", "sum_by_warps", [&] { sum_by_warps<<<multiprocessors() * 8, BLOCK>>>(in, sum); });
}

CASE(contended_shared_histogram) { measure_histograms(bench, "histogram_shared", histogram_shared); }
CASE(contended_global_histogram) { measure_histograms(bench, "histogram_global", histogram_global); }

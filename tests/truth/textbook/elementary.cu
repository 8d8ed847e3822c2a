// Well-known kernels, written as textbooks write them: vectors, scans, sums, histograms.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 25, BLOCK = 256, LANES = 32;

__global__ void saxpy(int n, float a, const float *x, const float *y, float *z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}

__global__ void dot_product(const float4 *x, const float4 *y, float *sum, int n) {
    __shared__ float partial[BLOCK / LANES];
    float mine = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        float4 a = x[i], b = y[i];
        mine += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    for (int step = LANES / 2; step > 0; step /= 2) mine += __shfl_down_sync(0xFFFFFFFFU, mine, step);
    if (threadIdx.x % LANES == 0) partial[threadIdx.x / LANES] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < BLOCK / LANES; ++warp) mine += partial[warp];
        atomicAdd(sum, mine);
    }
}

// The steps of a well-known series on reduction: each writes one sum per block.
__global__ void reduce_interleaved_remainder(const float *in, float *out) {
    __shared__ float data[BLOCK];
    data[threadIdx.x] = in[blockIdx.x * BLOCK + threadIdx.x];
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) data[threadIdx.x] += data[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = data[0];
}

__global__ void reduce_interleaved_strided(const float *in, float *out) {
    __shared__ float data[BLOCK];
    data[threadIdx.x] = in[blockIdx.x * BLOCK + threadIdx.x];
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        int i = 2 * step * threadIdx.x;
        if (i < BLOCK) data[i] += data[i + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = data[0];
}

__global__ void reduce_sequential(const float *in, float *out) {
    __shared__ float data[BLOCK];
    data[threadIdx.x] = in[blockIdx.x * BLOCK + threadIdx.x];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) data[threadIdx.x] += data[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = data[0];
}

__global__ void reduce_two_per_thread(const float *in, float *out) {
    __shared__ float data[BLOCK];
    int i = blockIdx.x * BLOCK * 2 + threadIdx.x;
    data[threadIdx.x] = in[i] + in[i + BLOCK];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) data[threadIdx.x] += data[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = data[0];
}

__global__ void reduce_many_per_thread(const float4 *in, float *out, int n) {
    __shared__ float partial[BLOCK / LANES];
    float mine = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        float4 v = in[i];
        mine += v.x + v.y + v.z + v.w;
    }
    for (int step = LANES / 2; step > 0; step /= 2) mine += __shfl_down_sync(0xFFFFFFFFU, mine, step);
    if (threadIdx.x % LANES == 0) partial[threadIdx.x / LANES] = mine;
    __syncthreads();
    if (threadIdx.x < BLOCK / LANES) {
        mine = partial[threadIdx.x];
        for (int step = BLOCK / LANES / 2; step > 0; step /= 2) mine += __shfl_down_sync(0xFFU, mine, step);
        if (threadIdx.x == 0) out[blockIdx.x] = mine;
    }
}

// Work-efficient scan of one block's elements in shared memory.
__global__ void scan_blocks(const float *in, float *out) {
    __shared__ float data[2 * BLOCK];
    int base = blockIdx.x * 2 * BLOCK, thread = threadIdx.x, offset = 1;
    data[2 * thread] = in[base + 2 * thread];
    data[2 * thread + 1] = in[base + 2 * thread + 1];
    for (int active = BLOCK; active > 0; active /= 2, offset *= 2) {
        __syncthreads();
        if (thread < active) data[offset * (2 * thread + 2) - 1] += data[offset * (2 * thread + 1) - 1];
    }
    if (thread == 0) data[2 * BLOCK - 1] = 0;
    for (int active = 1; active < 2 * BLOCK; active *= 2) {
        offset /= 2;
        __syncthreads();
        if (thread < active) {
            int left = offset * (2 * thread + 1) - 1, right = offset * (2 * thread + 2) - 1;
            float moved = data[left];
            data[left] = data[right];
            data[right] += moved;
        }
    }
    __syncthreads();
    out[base + 2 * thread] = data[2 * thread];
    out[base + 2 * thread + 1] = data[2 * thread + 1];
}

__global__ void histogram_64(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned counts[64];
    if (threadIdx.x < 64) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) atomicAdd(&counts[in[i] >> 2], 1);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}

// Compare and exchange at one distance, as in a bitonic sort.
__global__ void bitonic_step(const unsigned *in, unsigned *out, unsigned distance, unsigned size) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, partner = i ^ distance;
    if (partner <= i) return;
    unsigned a = in[i], b = in[partner];
    bool ascending = (i & size) == 0;
    out[i] = (a > b) == ascending ? b : a;
    out[partner] = (a > b) == ascending ? a : b;
}

// Random read-modify-write over a large table.
__global__ void random_updates(unsigned long long *table, unsigned mask, int updates) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < updates; ++k) {
        unsigned number = mixed(i * updates + k);
        atomicXor(&table[number & mask], static_cast<unsigned long long>(number));
    }
}

float4 *vectors(const Buffer<float> &buffer) { return reinterpret_cast<float4 *>(buffer.data()); }

double block_sum(size_t begin, size_t count) {
    double sum = 0;
    for (size_t i = begin; i < begin + count; ++i) sum += fraction(i);
    return sum;
}
}  // namespace

CASE(saxpy) {
    Buffer<float> x(tabulated(N, [](size_t i) { return fraction(i); })), y(tabulated(N, [](size_t i) { return fraction(i + N); })), z(N);
    bench.output(z, 0xFF, [](size_t i) { return 2.0 * fraction(i) + fraction(i + N); }, 1e-6);
    bench.run("textbook", "saxpy", [&] { saxpy<<<blocks_for(N, BLOCK), BLOCK>>>(N, 2.0f, x, y, z); });
}

CASE(dot_product) {
    std::vector<float> host = tabulated(N, [](size_t i) { return mixed(i) & 1; });
    double total = 0;
    for (float value : host) total += value;
    Buffer<float> x(host), sum(1);
    bench.output(sum, 0, [=](size_t) { return total; }, 1e-5);
    bench.run("textbook", "dot_product", [&] { dot_product<<<multiprocessors() * 8, BLOCK>>>(vectors(x), vectors(x), sum, N / 4); });
}

CASE(reduction_steps) {
    Buffer<float> in(tabulated(N, [](size_t i) { return fraction(i); })), sums(N / BLOCK), halves(N / BLOCK / 2);
    bench.output(sums, 0xFF, [](size_t block) { return block_sum(block * BLOCK, BLOCK); }, 1e-5);
    bench.run("step1", "reduce_interleaved_remainder", [&] { reduce_interleaved_remainder<<<N / BLOCK, BLOCK>>>(in, sums); });
    bench.run("step2", "reduce_interleaved_strided", [&] { reduce_interleaved_strided<<<N / BLOCK, BLOCK>>>(in, sums); });
    bench.run("step3", "reduce_sequential", [&] { reduce_sequential<<<N / BLOCK, BLOCK>>>(in, sums); });
    bench.output(halves, 0xFF, [](size_t block) { return block_sum(block * BLOCK * 2, BLOCK * 2); }, 1e-5);
    bench.run("step4", "reduce_two_per_thread", [&] { reduce_two_per_thread<<<N / BLOCK / 2, BLOCK>>>(in, halves); });
    int blocks = multiprocessors() * 8;
    Buffer<float> few(blocks);
    bench.output(few, 0xFF, [=](size_t block) {
        double sum = 0;
        for (size_t i = block * BLOCK; i < N / 4; i += size_t(blocks) * BLOCK) sum += block_sum(i * 4, std::min<size_t>(BLOCK, N / 4 - i) * 4);
        return sum;
    }, 1e-5);
    bench.run("step7", "reduce_many_per_thread", [&] { reduce_many_per_thread<<<blocks, BLOCK>>>(vectors(in), few, N / 4); });
}

CASE(scan_blocks) {
    Buffer<float> in(tabulated(N, [](size_t i) { return fraction(i); })), out(N);
    bench.output(out, 0xFF, [](size_t i) { return block_sum(i / (2 * BLOCK) * (2 * BLOCK), i % (2 * BLOCK)); }, 1e-5);
    bench.run("textbook", "scan_blocks", [&] { scan_blocks<<<N / BLOCK / 2, BLOCK>>>(in, out); });
}

CASE(histogram_64) {
    std::vector<unsigned char> host(N);
    std::vector<double> expected(64, 0);
    for (size_t i = 0; i < N; ++i) {
        host[i] = mixed(i);
        ++expected[host[i] >> 2];
    }
    Buffer<unsigned char> in(host);
    Buffer<unsigned> bins(64);
    bench.output(bins, 0, [=](size_t bin) { return expected[bin]; }, 0);
    bench.run("textbook", "histogram_64", [&] { histogram_64<<<multiprocessors() * 8, BLOCK>>>(in, bins, N); });
}

CASE(bitonic_step) {
    std::vector<unsigned> host(N);
    for (unsigned i = 0; i < N; ++i) host[i] = mixed(i);
    Buffer<unsigned> in(host), out(N);
    constexpr unsigned DISTANCE = 1 << 12, SIZE = 1 << 13;
    bench.output(out, 0xFF, [](size_t i) {
        unsigned low = i & ~size_t(DISTANCE), a = mixed(low), b = mixed(low | DISTANCE);
        bool ascending = (low & SIZE) == 0, first = low == i;
        return double(first == ascending ? std::min(a, b) : std::max(a, b));
    }, 0);
    bench.run("textbook", "bitonic_step", [&] { bitonic_step<<<N / BLOCK, BLOCK>>>(in, out, DISTANCE, SIZE); });
}

CASE(random_updates) {
    constexpr unsigned CELLS = 1U << 25;
    constexpr int THREADS = 1 << 20, UPDATES = 8;
    std::vector<unsigned long long> expected(CELLS, 0);
    for (unsigned k = 0; k < unsigned(THREADS) * UPDATES; ++k) expected[mixed(k) & (CELLS - 1)] ^= mixed(k);
    Buffer<unsigned long long> table(CELLS);
    bench.output(table, 0, [&](size_t i) { return double(expected[i]); }, 0);
    bench.run("textbook", "random_updates", [&] { random_updates<<<THREADS / BLOCK, BLOCK>>>(table, CELLS - 1, UPDATES); });
}

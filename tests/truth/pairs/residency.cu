// Random reads, whose latency only many resident warps hide: few warps because of shared memory
// that nobody uses, and because of blocks of one warp.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 22, READS = 8;
constexpr unsigned TABLE = 1U << 26;
constexpr int WASTED_BYTES = 100 * 1024;

__host__ __device__ inline unsigned place(unsigned i, int k) { return mixed(i * READS + k) & (TABLE - 1); }
__host__ __device__ inline float entry(unsigned place) { return (place & 1023) * (1.0f / 1024.0f); }

__global__ void fill_table(float *table) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    table[i] = entry(i);
}

__device__ void read_table(const float *table, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < READS; ++k) sum += table[place(i, k)];
    out[i] = sum;
}

__global__ void read_with_wasted_shared(const float *table, float *out) {
    extern __shared__ float wasted[];
    wasted[threadIdx.x] = 0.0f;
    read_table(table, out);
}

__global__ void read_in_blocks_of_a_warp(const float *table, float *out) { read_table(table, out); }
__global__ void read_with_many_warps(const float *table, float *out) { read_table(table, out); }

double reference(size_t i) {
    double sum = 0;
    for (int k = 0; k < READS; ++k) sum += entry(place(i, k));
    return sum;
}
}  // namespace

CASE(shared_memory_limits_occupancy) {
    Buffer<float> table(TABLE), out(N);
    fill_table<<<TABLE / 256, 256>>>(table);
    CHECK(cudaFuncSetAttribute(read_with_wasted_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, WASTED_BYTES));
    bench.output(out, 0xFF, reference, 1e-5);
    bench.run("fault", "read_with_wasted_shared", [&] { read_with_wasted_shared<<<N / 128, 128, WASTED_BYTES>>>(table, out); });
    bench.run("repair", "read_with_many_warps", [&] { read_with_many_warps<<<N / 128, 128>>>(table, out); });
}

CASE(tiny_blocks) {
    Buffer<float> table(TABLE), out(N);
    fill_table<<<TABLE / 256, 256>>>(table);
    bench.output(out, 0xFF, reference, 1e-5);
    bench.run("fault", "read_in_blocks_of_a_warp", [&] { read_in_blocks_of_a_warp<<<N / 32, 32>>>(table, out); });
    bench.run("repair", "read_with_many_warps", [&] { read_with_many_warps<<<N / 256, 256>>>(table, out); });
}

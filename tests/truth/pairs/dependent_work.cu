// Work that waits for itself: a chain of multiply-adds with few warps, a list walked node by
// node, and one load in flight per thread. The twins have independent work.
#include "../bench.cuh"

namespace {
constexpr int BLOCK = 128, CHAINS = 8, ROUNDS = 4096;

__device__ inline float advanced(float x) {
#pragma unroll 32
    for (int k = 0; k < ROUNDS; ++k) x = x * 0.75f + 0.125f;
    return x;
}

__global__ void chains_in_turn(float *out) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
#pragma unroll 1
    for (int chain = 0; chain < CHAINS; ++chain) out[i * CHAINS + chain] = advanced(fraction(i * CHAINS + chain));
}

__global__ void chains_side_by_side(float *out) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float x[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) x[chain] = fraction(i * CHAINS + chain);
#pragma unroll 8
    for (int k = 0; k < ROUNDS; ++k)
#pragma unroll
        for (int chain = 0; chain < CHAINS; ++chain) x[chain] = x[chain] * 0.75f + 0.125f;
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) out[i * CHAINS + chain] = x[chain];
}

constexpr int LISTS = 1 << 17, NODES = 64, CELLS = LISTS * NODES;

// Node k of a list lies anywhere in the cells.
__host__ __device__ inline unsigned cell(unsigned list, unsigned k) { return ((k * LISTS + list) * 2654435761U) % CELLS; }

struct Node {
    unsigned next;
    float value;
};

__global__ void walk_lists(const Node *nodes, float *sums) {
    unsigned list = blockIdx.x * blockDim.x + threadIdx.x, at = cell(list, 0);
    float sum = 0.0f;
    for (int k = 0; k < NODES; ++k) {
        Node node = nodes[at];
        sum += node.value;
        at = node.next;
    }
    sums[list] = sum;
}

__global__ void sum_flat_lists(const float *values, float *sums) {
    unsigned list = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 16
    for (int k = 0; k < NODES; ++k) sum += values[k * LISTS + list];
    sums[list] = sum;
}

constexpr int SUMMED = 1 << 25, SUMMING_BLOCKS = 132, SUMMING_BLOCK = 256;
constexpr int SUMMING_THREADS = SUMMING_BLOCKS * SUMMING_BLOCK;
constexpr int IN_FLIGHT = 16;

__global__ void sum_one_in_flight(const float *in, float *sums) {
    int thread = blockIdx.x * SUMMING_BLOCK + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int i = thread; i < SUMMED; i += SUMMING_THREADS) sum += in[i];
    sums[thread] = sum;
}

__global__ void sum_many_in_flight(const float *in, float *sums) {
    int thread = blockIdx.x * SUMMING_BLOCK + threadIdx.x;
    float sum = 0.0f;
    int i = thread;
    for (; i + (IN_FLIGHT - 1) * SUMMING_THREADS < SUMMED; i += IN_FLIGHT * SUMMING_THREADS) {
        float values[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) values[k] = in[i + k * SUMMING_THREADS];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) sum += values[k];
    }
    for (; i < SUMMED; i += SUMMING_THREADS) sum += in[i];
    sums[thread] = sum;
}
}  // namespace

CASE(low_instruction_parallelism) {
    int blocks = multiprocessors();
    Buffer<float> out(size_t(blocks) * BLOCK * CHAINS);
    bench.output(out, 0xFF, [](size_t i) {
        double x = fraction(i);
        for (int k = 0; k < ROUNDS; ++k) x = x * 0.75 + 0.125;
        return x;
    }, 1e-5);
    bench.run("fault", "chains_in_turn", [&] { chains_in_turn<<<blocks, BLOCK>>>(out); });
    bench.run("repair", "chains_side_by_side", [&] { chains_side_by_side<<<blocks, BLOCK>>>(out); });
}

CASE(dependent_loads) {
    std::vector<Node> host(CELLS);
    for (unsigned list = 0; list < LISTS; ++list)
        for (unsigned k = 0; k < NODES; ++k) host[cell(list, k)] = {cell(list, (k + 1) % NODES), fraction(list * NODES + k)};
    Buffer<Node> nodes(host);
    Buffer<float> values(tabulated(CELLS, [](size_t i) { return fraction(i % LISTS * NODES + i / LISTS); }));
    Buffer<float> sums(LISTS);
    bench.output(sums, 0xFF, [](size_t list) {
        double sum = 0;
        for (int k = 0; k < NODES; ++k) sum += fraction(list * NODES + k);
        return sum;
    }, 1e-4);
    bench.run("fault", "walk_lists", [&] { walk_lists<<<LISTS / 256, 256>>>(nodes, sums); });
    bench.run("repair", "sum_flat_lists", [&] { sum_flat_lists<<<LISTS / 256, 256>>>(values, sums); });
}

CASE(one_load_in_flight) {
    Buffer<float> in(tabulated(SUMMED, [](size_t i) { return fraction(i); }));
    Buffer<float> sums(SUMMING_THREADS);
    bench.output(sums, 0xFF, [](size_t thread) {
        double sum = 0;
        for (size_t i = thread; i < SUMMED; i += SUMMING_THREADS) sum += fraction(i);
        return sum;
    }, 1e-3);
    bench.run("fault", "sum_one_in_flight", [&] { sum_one_in_flight<<<SUMMING_BLOCKS, SUMMING_BLOCK>>>(in, sums); });
    bench.run("repair", "sum_many_in_flight", [&] { sum_many_in_flight<<<SUMMING_BLOCKS, SUMMING_BLOCK>>>(in, sums); });
}

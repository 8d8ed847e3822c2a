// Tables with an index per lane: in constant memory, against shared memory; and an array of the
// thread's own with a computed index, which lives in local memory, against selection in registers.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 20, ROUNDS = 64, ENTRIES = 256;

__constant__ float constant_table[ENTRIES];

__host__ __device__ inline int place(unsigned i, int k) { return (i * 37U + k * 11U) % ENTRIES; }

__global__ void look_up_constant(float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < ROUNDS; ++k) sum += constant_table[place(i, k)];
    out[i] = sum;
}

__global__ void look_up_shared(const float *table, float *out) {
    __shared__ float copy[ENTRIES];
    copy[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < ROUNDS; ++k) sum += copy[place(i, k)];
    out[i] = sum;
}

constexpr int WEIGHTS = 16;

__host__ __device__ inline int state(unsigned i, int round) { return (i >> (round & 15)) & (WEIGHTS - 1); }

__global__ void weights_in_local(float *out, float scale) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float weights[WEIGHTS], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < WEIGHTS; ++k) weights[k] = scale * k + (i & 3);
#pragma unroll 1
    for (int round = 0; round < ROUNDS; ++round) {
        int at = state(i, round);
        sum += weights[at];
        weights[at] = weights[at] * 0.5f + 1.0f;
    }
    out[i] = sum;
}

__global__ void weights_in_registers(float *out, float scale) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float weights[WEIGHTS], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < WEIGHTS; ++k) weights[k] = scale * k + (i & 3);
#pragma unroll 1
    for (int round = 0; round < ROUNDS; ++round) {
        int at = state(i, round);
#pragma unroll
        for (int k = 0; k < WEIGHTS; ++k)
            if (k == at) {
                sum += weights[k];
                weights[k] = weights[k] * 0.5f + 1.0f;
            }
    }
    out[i] = sum;
}
}  // namespace

CASE(divergent_constant_reads) {
    std::vector<float> table = tabulated(ENTRIES, [](size_t i) { return fraction(i); });
    CHECK(cudaMemcpyToSymbol(constant_table, table.data(), sizeof(constant_table)));
    Buffer<float> copy(table), out(N);
    bench.output(out, 0xFF, [](size_t i) {
        double sum = 0;
        for (int k = 0; k < ROUNDS; ++k) sum += fraction(place(i, k));
        return sum;
    }, 1e-4);
    bench.run("fault", "look_up_constant", [&] { look_up_constant<<<N / ENTRIES, ENTRIES>>>(out); });
    bench.run("repair", "look_up_shared", [&] { look_up_shared<<<N / ENTRIES, ENTRIES>>>(copy, out); });
}

CASE(local_array_with_computed_index) {
    constexpr float SCALE = 0.25f;
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) {
        double weights[WEIGHTS], sum = 0;
        for (int k = 0; k < WEIGHTS; ++k) weights[k] = double(SCALE) * k + (i & 3);
        for (int round = 0; round < ROUNDS; ++round) {
            int at = state(i, round);
            sum += weights[at];
            weights[at] = weights[at] * 0.5 + 1.0;
        }
        return sum;
    }, 1e-4);
    bench.run("fault", "weights_in_local", [&] { weights_in_local<<<N / 256, 256>>>(out, SCALE); });
    bench.run("repair", "weights_in_registers", [&] { weights_in_registers<<<N / 256, 256>>>(out, SCALE); });
}

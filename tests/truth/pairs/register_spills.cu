// Ninety-six live values under launch bounds that leave 32 registers, against bounds that leave
// enough.
#include "../bench.cuh"

namespace {
constexpr int VALUES = 96, ROUNDS = 24, N = 1 << 19;

__host__ __device__ inline float start(int i, int k) { return ((i + k * 31) & 1023) * (1.0f / 1024.0f); }

__device__ void mix(float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float values[VALUES];
#pragma unroll
    for (int k = 0; k < VALUES; ++k) values[k] = start(i, k);
#pragma unroll 1
    for (int round = 0; round < ROUNDS; ++round) {
#pragma unroll
        for (int k = 0; k < VALUES; ++k) values[k] = 0.5f * values[k] + 0.25f * values[(k * 7 + 1) % VALUES];
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < VALUES; ++k) sum += values[k];
    out[i] = sum;
}

__global__ void __launch_bounds__(1024, 2) mix_spilling(float *out) { mix(out); }
__global__ void __launch_bounds__(256) mix_in_registers(float *out) { mix(out); }
}  // namespace

CASE(register_spills) {
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) {
        std::vector<double> values(VALUES);
        for (int k = 0; k < VALUES; ++k) values[k] = start(i, k);
        for (int round = 0; round < ROUNDS; ++round)
            for (int k = 0; k < VALUES; ++k) values[k] = 0.5 * values[k] + 0.25 * values[(k * 7 + 1) % VALUES];
        double sum = 0;
        for (double value : values) sum += value;
        return sum;
    }, 1e-4);
    bench.run("fault", "mix_spilling", [&] { mix_spilling<<<N / 1024, 1024>>>(out); });
    bench.run("repair", "mix_in_registers", [&] { mix_in_registers<<<N / 256, 256>>>(out); });
}

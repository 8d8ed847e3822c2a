// Sixteen powers of each element: the fault writes with a stride of sixteen words, the twin writes
// sixteen arrays one after the other.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 21, POWERS = 16;

__global__ void powers_interleaved(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], power = 1.0f;
#pragma unroll 1
    for (int k = 0; k < POWERS; ++k) {
        power *= x;
        out[size_t(i) * POWERS + k] = power;
    }
}

__global__ void powers_separate(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], power = 1.0f;
#pragma unroll 1
    for (int k = 0; k < POWERS; ++k) {
        power *= x;
        out[size_t(k) * N + i] = power;
    }
}
}  // namespace

CASE(uncoalesced_store) {
    Buffer<float> in(tabulated(N, [](size_t i) { return fraction(i); }));
    Buffer<float> out(size_t(N) * POWERS);
    bench.output(out, 0xFF, [](size_t i) { return std::pow(double(fraction(i / POWERS)), double(i % POWERS + 1)); }, 1e-4);
    bench.run("fault", "powers_interleaved", [&] { powers_interleaved<<<N / 256, 256>>>(in, out); });
    bench.output(out, 0xFF, [](size_t i) { return std::pow(double(fraction(i % N)), double(i / N + 1)); }, 1e-4);
    bench.run("repair", "powers_separate", [&] { powers_separate<<<N / 256, 256>>>(in, out); });
}

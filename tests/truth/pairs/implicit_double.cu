// Literals without a suffix turn single-precision arithmetic into double.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 20, ROUNDS = 256;

__global__ void logistic_in_double(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
#pragma unroll 8
    for (int k = 0; k < ROUNDS; ++k) x = 0.3 * x * (1.0 - x) + 0.2 * x + 0.1;
    out[i] = x;
}

__global__ void logistic_in_single(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
#pragma unroll 8
    for (int k = 0; k < ROUNDS; ++k) x = 0.3f * x * (1.0f - x) + 0.2f * x + 0.1f;
    out[i] = x;
}
}  // namespace

CASE(implicit_double) {
    Buffer<float> in(tabulated(N, [](size_t i) { return fraction(i); }));
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) {
        double x = fraction(i);
        for (int k = 0; k < ROUNDS; ++k) x = 0.3 * x * (1.0 - x) + 0.2 * x + 0.1;
        return x;
    }, 1e-4);
    bench.run("fault", "logistic_in_double", [&] { logistic_in_double<<<N / 256, 256>>>(in, out); });
    bench.run("repair", "logistic_in_single", [&] { logistic_in_single<<<N / 256, 256>>>(in, out); });
}

// General functions where cheaper ones do: powf with a whole exponent, and precise sines whose
// last bits nobody reads.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 21, ROUNDS = 32;

__global__ void cubes_by_powf(const float *in, float *out, float exponent) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0.0f;
    for (int k = 0; k < ROUNDS; ++k) sum += powf(x + k, exponent);
    out[i] = sum;
}

__global__ void cubes_by_product(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0.0f;
    for (int k = 0; k < ROUNDS; ++k) sum += (x + k) * (x + k) * (x + k);
    out[i] = sum;
}

__global__ void waves_precise(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0.0f;
    for (int k = 0; k < ROUNDS; ++k) sum += sinf(x * k) * cosf(x + k * 0.05f) + tanf(x * 0.5f + k * 0.01f);
    out[i] = sum;
}

__global__ void waves_fast(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0.0f;
    for (int k = 0; k < ROUNDS; ++k) sum += __sinf(x * k) * __cosf(x + k * 0.05f) + __tanf(x * 0.5f + k * 0.01f);
    out[i] = sum;
}
}  // namespace

CASE(power_with_whole_exponent) {
    Buffer<float> in(tabulated(N, [](size_t i) { return fraction(i); }));
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) {
        double sum = 0;
        for (int k = 0; k < ROUNDS; ++k) sum += std::pow(fraction(i) + double(k), 3.0);
        return sum;
    }, 1e-4);
    bench.run("fault", "cubes_by_powf", [&] { cubes_by_powf<<<N / 256, 256>>>(in, out, 3.0f); });
    bench.run("repair", "cubes_by_product", [&] { cubes_by_product<<<N / 256, 256>>>(in, out); });
}

CASE(precise_trigonometry) {
    Buffer<float> in(tabulated(N, [](size_t i) { return fraction(i); }));
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) {
        double x = fraction(i), sum = 0;
        for (int k = 0; k < ROUNDS; ++k) sum += std::sin(x * k) * std::cos(x + k * 0.05) + std::tan(x * 0.5 + k * 0.01);
        return sum;
    }, 1e-3);
    bench.run("fault", "waves_precise", [&] { waves_precise<<<N / 256, 256>>>(in, out); });
    bench.run("repair", "waves_fast", [&] { waves_fast<<<N / 256, 256>>>(in, out); });
}

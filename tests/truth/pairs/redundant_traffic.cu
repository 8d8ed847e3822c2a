// Bytes that need not move: a running sum kept in global memory, two passes where one does, and
// single precision where half is enough.
#include <cuda_fp16.h>

#include "../bench.cuh"

namespace {
constexpr int N = 1 << 18, TERMS = 64;

__global__ void accumulate_in_global(const float *in, volatile float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 0.0f;
    for (int k = 0; k < TERMS; ++k) out[i] += in[size_t(k) * N + i];
}

__global__ void accumulate_in_register(const float *__restrict__ in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 16
    for (int k = 0; k < TERMS; ++k) sum += in[size_t(k) * N + i];
    out[i] = sum;
}

constexpr int LONG = 1 << 26;

__global__ void scale_pass(const float4 *in, float4 *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.x * 3.0f, v.y * 3.0f, v.z * 3.0f, v.w * 3.0f);
}

__global__ void shift_pass(const float4 *in, float4 *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.x + 1.0f, v.y + 1.0f, v.z + 1.0f, v.w + 1.0f);
}

__global__ void scale_and_shift(const float4 *in, float4 *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.x * 3.0f + 1.0f, v.y * 3.0f + 1.0f, v.z * 3.0f + 1.0f, v.w * 3.0f + 1.0f);
}

__global__ void relu_single(const float4 *in, float4 *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(fmaxf(v.x, 0.5f), fmaxf(v.y, 0.5f), fmaxf(v.z, 0.5f), fmaxf(v.w, 0.5f));
}

struct __align__(16) EightHalves {
    half2 pairs[4];
};

__global__ void relu_half(const EightHalves *in, EightHalves *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    EightHalves v = in[i];
    half2 floor = __float2half2_rn(0.5f);
#pragma unroll
    for (half2 &pair : v.pairs) pair = __hmax2(pair, floor);
    out[i] = v;
}

// Exact in half precision too.
float coarse(size_t i) { return (mixed(i) & 255) * (1.0f / 256.0f); }
}  // namespace

CASE(sum_kept_in_global_memory) {
    Buffer<float> in(tabulated(size_t(N) * TERMS, [](size_t i) { return fraction(i); })), out(N);
    bench.output(out, 0xFF, [](size_t i) {
        double sum = 0;
        for (int k = 0; k < TERMS; ++k) sum += fraction(size_t(k) * N + i);
        return sum;
    }, 1e-4);
    bench.run("fault", "accumulate_in_global", [&] { accumulate_in_global<<<N / 256, 256>>>(in, out.data()); });
    bench.run("repair", "accumulate_in_register", [&] { accumulate_in_register<<<N / 256, 256>>>(in, out); });
}

CASE(two_passes) {
    Buffer<float> in(tabulated(LONG, [](size_t i) { return fraction(i); })), between(LONG), out(LONG);
    auto *source = reinterpret_cast<float4 *>(in.data());
    auto *middle = reinterpret_cast<float4 *>(between.data());
    auto *target = reinterpret_cast<float4 *>(out.data());
    bench.output(out, 0xFF, [](size_t i) { return fraction(i) * 3.0 + 1.0; }, 1e-6);
    bench.run("fault", "scale_pass, shift_pass", [&] {
        scale_pass<<<LONG / 4 / 256, 256>>>(source, middle);
        shift_pass<<<LONG / 4 / 256, 256>>>(middle, target);
    });
    bench.run("repair", "scale_and_shift", [&] { scale_and_shift<<<LONG / 4 / 256, 256>>>(source, target); });
}

CASE(single_precision_data) {
    std::vector<half> narrow(LONG);
    for (size_t i = 0; i < LONG; ++i) narrow[i] = __float2half(coarse(i));
    Buffer<float> wide(tabulated(LONG, coarse)), out(LONG);
    Buffer<half> halves(narrow), half_out(LONG);
    auto expected = [](size_t i) { return std::max(0.5, double(coarse(i))); };
    bench.output(out, 0xFF, expected, 0);
    bench.run("fault", "relu_single", [&] {
        relu_single<<<LONG / 4 / 256, 256>>>(reinterpret_cast<float4 *>(wide.data()), reinterpret_cast<float4 *>(out.data()));
    });
    bench.output(half_out, 0xFF, expected, 0);
    bench.run("repair", "relu_half", [&] {
        relu_half<<<LONG / 8 / 256, 256>>>(reinterpret_cast<EightHalves *>(halves.data()), reinterpret_cast<EightHalves *>(half_out.data()));
    });
}

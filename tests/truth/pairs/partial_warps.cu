// Blocks of 33 threads, whose second warp has one lane, against blocks of 256.
#include "../bench.cuh"

namespace {
constexpr int N = 33 * 256 * 256, ROUNDS = 512;

__device__ void iterate(float *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float x = fraction(i);
#pragma unroll 16
    for (int k = 0; k < ROUNDS; ++k) x = x * 0.75f + 0.125f;
    out[i] = x;
}

__global__ void iterate_in_blocks_of_33(float *out) { iterate(out); }
__global__ void iterate_in_blocks_of_256(float *out) { iterate(out); }
}  // namespace

CASE(partial_warps) {
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) {
        double x = fraction(i);
        for (int k = 0; k < ROUNDS; ++k) x = x * 0.75 + 0.125;
        return x;
    }, 1e-5);
    bench.run("fault", "iterate_in_blocks_of_33", [&] { iterate_in_blocks_of_33<<<N / 33, 33>>>(out); });
    bench.run("repair", "iterate_in_blocks_of_256", [&] { iterate_in_blocks_of_256<<<N / 256, 256>>>(out); });
}

// Equal blocks of long work, a few more than one wave holds, against the same work in smaller
// blocks. Two blocks of 1024 threads fit a multiprocessor.
#include "../bench.cuh"

namespace {
constexpr int BLOCK = 1024, PARTS = 8, ROUNDS = 1024, EXTRA = 8;

// Each block works through `items` elements per thread.
__device__ void iterate(float *out, int items) {
    for (int item = 0; item < items; ++item) {
        size_t i = (size_t(blockIdx.x) * items + item) * BLOCK + threadIdx.x;
        float x = fraction(i);
#pragma unroll 16
        for (int k = 0; k < ROUNDS; ++k) x = x * 0.75f + 0.125f;
        out[i] = x;
    }
}

__global__ void __launch_bounds__(BLOCK, 2) iterate_in_long_blocks(float *out) { iterate(out, PARTS); }
__global__ void __launch_bounds__(BLOCK, 2) iterate_in_short_blocks(float *out) { iterate(out, 1); }
}  // namespace

CASE(tail_effect) {
    int blocks = 2 * multiprocessors() + EXTRA;
    Buffer<float> out(size_t(blocks) * BLOCK * PARTS);
    bench.output(out, 0xFF, [](size_t i) {
        double x = fraction(i);
        for (int k = 0; k < ROUNDS; ++k) x = x * 0.75 + 0.125;
        return x;
    }, 1e-5);
    bench.run("fault", "iterate_in_long_blocks", [&] { iterate_in_long_blocks<<<blocks, BLOCK>>>(out); });
    bench.run("repair", "iterate_in_short_blocks", [&] { iterate_in_short_blocks<<<blocks * PARTS, BLOCK>>>(out); });
}

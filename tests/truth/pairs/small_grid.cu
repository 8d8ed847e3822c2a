// The same scaling by one block, by half as many blocks as there are multiprocessors, and by a
// grid that fills the device.
#include "../bench.cuh"

namespace {
constexpr int SMALL = 1 << 20, LARGE = 1 << 25, BLOCK = 256;

__device__ void scale(const float *in, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 2.0f + 1.0f;
}

__global__ void scale_by_one_block(const float *in, float *out, int n) { scale(in, out, n); }
__global__ void scale_by_few_blocks(const float *in, float *out, int n) { scale(in, out, n); }
__global__ void scale_by_full_grid(const float *in, float *out, int n) { scale(in, out, n); }

void measure(Bench &bench, const char *kernel, void (*faulty)(const float *, float *, int), int blocks, int n) {
    Buffer<float> in(tabulated(n, [](size_t i) { return fraction(i); }));
    Buffer<float> out(n);
    bench.output(out, 0xFF, [](size_t i) { return fraction(i) * 2.0 + 1.0; }, 1e-6);
    bench.run("fault", kernel, [&] { faulty<<<blocks, BLOCK>>>(in, out, n); });
    bench.run("repair", "scale_by_full_grid", [&] { scale_by_full_grid<<<multiprocessors() * 8, BLOCK>>>(in, out, n); });
}
}  // namespace

CASE(one_block) { measure(bench, "scale_by_one_block", scale_by_one_block, 1, SMALL); }
CASE(fewer_blocks_than_multiprocessors) { measure(bench, "scale_by_few_blocks", scale_by_few_blocks, multiprocessors() / 2, LARGE); }

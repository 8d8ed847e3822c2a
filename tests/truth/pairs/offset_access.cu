// A copy that starts one word after a line's beginning: costs a few percent, which no engineer
// would chase. The twin is aligned.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 25, OFFSET = 1;

__global__ void scale_offset(const float *in, float *out, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + offset] * 2.0f;
}

__global__ void scale_aligned(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * 2.0f;
}
}  // namespace

CASE(offset_access) {
    Buffer<float> shifted(tabulated(N + OFFSET, [](size_t i) { return fraction(i - OFFSET); }));
    Buffer<float> aligned(tabulated(N, [](size_t i) { return fraction(i); }));
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) { return fraction(i) * 2.0; }, 1e-6);
    bench.run("fault", "scale_offset", [&] { scale_offset<<<N / 256, 256>>>(shifted, out, OFFSET); });
    bench.run("repair", "scale_aligned", [&] { scale_aligned<<<N / 256, 256>>>(aligned, out); });
}

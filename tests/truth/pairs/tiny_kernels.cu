// Eight launches of a few microseconds that each scale a short row, against one launch for all.
#include "../bench.cuh"

namespace {
constexpr int ROWS = 8, COLUMNS = 4096;

__global__ void scale_short_row(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * 2.0f;
}

__global__ void scale_all_rows(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * 2.0f;
}
}  // namespace

CASE(tiny_kernels) {
    Buffer<float> in(tabulated(ROWS * COLUMNS, [](size_t i) { return fraction(i); })), out(ROWS * COLUMNS);
    bench.output(out, 0xFF, [](size_t i) { return fraction(i) * 2.0; }, 0);
    bench.run("fault", "scale_short_row", [&] {
        for (int row = 0; row < ROWS; ++row) scale_short_row<<<COLUMNS / 256, 256>>>(in + row * COLUMNS, out + row * COLUMNS);
    });
    bench.run("repair", "scale_all_rows", [&] { scale_all_rows<<<ROWS * COLUMNS / 256, 256>>>(in, out); });
}

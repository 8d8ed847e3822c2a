// A transposition three ways: straight through global memory, through a tile whose columns share
// one bank, and through a padded tile.
#include "../bench.cuh"

namespace {
constexpr int SIDE = 6144, TILE = 32, ROWS = 8;

__global__ void transpose_global(const float *in, float *out) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[size_t(x) * SIDE + y + j] = in[size_t(y + j) * SIDE + x];
}

template <int PADDING>
__device__ void transpose_tile(const float *in, float *out) {
    __shared__ float tile[TILE][TILE + PADDING];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[size_t(y + j) * SIDE + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[size_t(y + j) * SIDE + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void transpose_unpadded(const float *in, float *out) { transpose_tile<0>(in, out); }
__global__ void transpose_padded(const float *in, float *out) { transpose_tile<1>(in, out); }

void measure(Bench &bench, const char *kernel, void (*faulty)(const float *, float *)) {
    Buffer<float> in(tabulated(size_t(SIDE) * SIDE, [](size_t i) { return fraction(i); }));
    Buffer<float> out(size_t(SIDE) * SIDE);
    bench.output(out, 0xFF, [](size_t i) { return fraction((i % SIDE) * SIDE + i / SIDE); }, 0);
    dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, ROWS);
    bench.run("fault", kernel, [&] { faulty<<<grid, block>>>(in, out); });
    bench.run("repair", "transpose_padded", [&] { transpose_padded<<<grid, block>>>(in, out); });
}
}  // namespace

CASE(transpose_without_tile) { measure(bench, "transpose_global", transpose_global); }
CASE(transpose_bank_conflicts) { measure(bench, "transpose_unpadded", transpose_unpadded); }

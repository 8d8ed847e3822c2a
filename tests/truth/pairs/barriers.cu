// Sums of short rows: a tree in shared memory with a barrier per step, against shuffles inside
// each warp and one barrier.
#include "../bench.cuh"

namespace {
constexpr int ROWS = 1 << 15, COLUMNS = 1024, BLOCK = 1024, LANES = 32;

__global__ void row_sums_by_tree(const float *matrix, float *sums) {
    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = matrix[size_t(blockIdx.x) * COLUMNS + threadIdx.x];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

// One warp per row: no barrier at all.
__global__ void row_sums_by_shuffle(const float *matrix, float *sums) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    const float4 *values = reinterpret_cast<const float4 *>(matrix + size_t(row) * COLUMNS);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < COLUMNS / 4 / LANES; ++i) {
        float4 v = values[i * LANES + lane];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, step);
    if (lane == 0) sums[row] = sum;
}
}  // namespace

CASE(barrier_per_step) {
    Buffer<float> matrix(tabulated(size_t(ROWS) * COLUMNS, [](size_t i) { return fraction(i); }));
    Buffer<float> sums(ROWS);
    bench.output(sums, 0xFF, [](size_t row) {
        double sum = 0;
        for (int column = 0; column < COLUMNS; ++column) sum += fraction(row * COLUMNS + column);
        return sum;
    }, 1e-4);
    bench.run("fault", "row_sums_by_tree", [&] { row_sums_by_tree<<<ROWS, BLOCK>>>(matrix, sums); });
    bench.run("repair", "row_sums_by_shuffle", [&] { row_sums_by_shuffle<<<ROWS / 8, 256>>>(matrix, sums); });
}

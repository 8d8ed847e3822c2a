// Rows of a triangle, one block per multiprocessor: each block a stretch of neighbouring rows, so
// that the last has twice the mean work, against rows dealt out evenly. And rows of uneven length
// inside one warp, against rows sorted by length.
#include "../bench.cuh"

namespace {
constexpr int BLOCK = 256, UNIT = 4;

__device__ float worked(float x, int rounds) {
#pragma unroll 4
    for (int k = 0; k < rounds; ++k) x = x * 0.75f + 0.125f;
    return x;
}

constexpr int TRIANGLE_BLOCK = 1024, ROWS_PER_BLOCK = 8;

__device__ void row_of_triangle(float *out, int row) {
    size_t i = size_t(row) * TRIANGLE_BLOCK + threadIdx.x;
    out[i] = worked(fraction(i), (row + 1) * UNIT);
}

// The last block gets the longest rows.
__global__ void triangle_in_stretches(float *out) {
    for (int k = 0; k < ROWS_PER_BLOCK; ++k) row_of_triangle(out, blockIdx.x * ROWS_PER_BLOCK + k);
}

// Rows dealt forth and back, so that each block gets as much.
__global__ void triangle_dealt_out(float *out) {
    for (int k = 0; k < ROWS_PER_BLOCK; ++k)
        row_of_triangle(out, k % 2 ? (k + 1) * gridDim.x - 1 - blockIdx.x : k * gridDim.x + blockIdx.x);
}

constexpr int ROWS = 1 << 20, LONGEST = 512;

__host__ __device__ inline int uneven_length(size_t row) { return mixed(row) % 16 == 0 ? LONGEST : 16; }

__global__ void uneven_lengths(const int *lengths, const float *in, float *out) {
    size_t row = blockIdx.x * blockDim.x + threadIdx.x;
    out[row] = worked(in[row], lengths[row]);
}

__global__ void sorted_lengths(const int *lengths, const float *in, float *out) {
    size_t row = blockIdx.x * blockDim.x + threadIdx.x;
    out[row] = worked(in[row], lengths[row]);
}

double reference(double x, int rounds) {
    for (int k = 0; k < rounds; ++k) x = x * 0.75 + 0.125;
    return x;
}
}  // namespace

CASE(load_imbalance) {
    int blocks = multiprocessors();
    Buffer<float> out(size_t(blocks) * ROWS_PER_BLOCK * TRIANGLE_BLOCK);
    bench.output(out, 0xFF, [](size_t i) { return reference(fraction(i), int(i / TRIANGLE_BLOCK + 1) * UNIT); }, 1e-4);
    bench.run("fault", "triangle_in_stretches", [&] { triangle_in_stretches<<<blocks, TRIANGLE_BLOCK>>>(out); });
    bench.run("repair", "triangle_dealt_out", [&] { triangle_dealt_out<<<blocks, TRIANGLE_BLOCK>>>(out); });
}

CASE(uneven_trip_counts) {
    std::vector<int> host(ROWS), order(ROWS);
    for (int row = 0; row < ROWS; ++row) {
        host[row] = uneven_length(row);
        order[row] = row;
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return host[a] > host[b]; });
    std::vector<int> sorted_host(ROWS);
    for (int row = 0; row < ROWS; ++row) sorted_host[row] = host[order[row]];
    Buffer<int> lengths(host), sorted(sorted_host);
    Buffer<float> in(tabulated(ROWS, [](size_t i) { return fraction(i); }));
    Buffer<float> sorted_in(tabulated(ROWS, [&](size_t i) { return fraction(order[i]); }));
    Buffer<float> out(ROWS);
    bench.output(out, 0xFF, [](size_t i) { return reference(fraction(i), uneven_length(i)); }, 1e-4);
    bench.run("fault", "uneven_lengths", [&] { uneven_lengths<<<ROWS / BLOCK, BLOCK>>>(lengths, in, out); });
    bench.output(out, 0xFF, [=](size_t i) { return reference(fraction(order[i]), uneven_length(order[i])); }, 1e-4);
    bench.run("repair", "sorted_lengths", [&] { sorted_lengths<<<ROWS / BLOCK, BLOCK>>>(sorted, sorted_in, out); });
}

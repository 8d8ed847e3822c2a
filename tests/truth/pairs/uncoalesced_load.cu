// Row sums of a matrix with one thread per row: row-major rows make each lane read another line;
// the twin keeps the same matrix column-major.
#include "../bench.cuh"

namespace {
constexpr int ROWS = 1 << 18, COLUMNS = 128;

__global__ void sum_rows_strided(const float *matrix, float *sums) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int column = 0; column < COLUMNS; ++column) sum += matrix[size_t(row) * COLUMNS + column] * (column + 1);
    sums[row] = sum;
}

__global__ void sum_rows_coalesced(const float *matrix, float *sums) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int column = 0; column < COLUMNS; ++column) sum += matrix[size_t(column) * ROWS + row] * (column + 1);
    sums[row] = sum;
}
}  // namespace

CASE(uncoalesced_load) {
    auto entry = [](size_t row, size_t column) { return fraction(row * COLUMNS + column); };
    Buffer<float> rows(tabulated(size_t(ROWS) * COLUMNS, [=](size_t i) { return entry(i / COLUMNS, i % COLUMNS); }));
    Buffer<float> columns(tabulated(size_t(ROWS) * COLUMNS, [=](size_t i) { return entry(i % ROWS, i / ROWS); }));
    Buffer<float> sums(ROWS);
    bench.output(sums, 0xFF, [=](size_t row) {
        double sum = 0;
        for (int column = 0; column < COLUMNS; ++column) sum += double(entry(row, column)) * (column + 1);
        return sum;
    }, 1e-4);
    bench.run("fault", "sum_rows_strided", [&] { sum_rows_strided<<<ROWS / 256, 256>>>(rows, sums); });
    bench.run("repair", "sum_rows_coalesced", [&] { sum_rows_coalesced<<<ROWS / 256, 256>>>(columns, sums); });
}

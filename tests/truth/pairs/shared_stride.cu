// A table in shared memory read many times with a stride of 8 or 2 words, against stride 1.
// The value read is the same: only the table's layout differs.
#include "../bench.cuh"

namespace {
constexpr int BLOCK = 256, BLOCKS = 132 * 16, ROUNDS = 512, LANES = 32;

// `stride` words lie between the words of two neighbouring lanes.
template <int STRIDE>
__device__ void sum_table(float *out) {
    __shared__ float table[LANES * STRIDE * 4];
    for (int i = threadIdx.x; i < LANES * 4; i += BLOCK) table[(i % LANES) * STRIDE + i / LANES * LANES * STRIDE] = fraction(i);
    __syncthreads();
    int lane = threadIdx.x % LANES;
    float sum = 0.0f;
#pragma unroll 4
    for (int round = 0; round < ROUNDS; ++round) {
        int place = ((lane + round) & (LANES - 1)) + (round & 3) * LANES;
        sum += table[place * STRIDE];
    }
    out[blockIdx.x * BLOCK + threadIdx.x] = sum;
}

__global__ void sum_stride_8(float *out) { sum_table<8>(out); }
__global__ void sum_stride_2(float *out) { sum_table<2>(out); }
__global__ void sum_stride_1(float *out) { sum_table<1>(out); }

void measure(Bench &bench, const char *kernel, void (*faulty)(float *)) {
    Buffer<float> out(size_t(BLOCKS) * BLOCK);
    bench.output(out, 0xFF, [](size_t i) {
        double sum = 0;
        for (int round = 0; round < ROUNDS; ++round) sum += fraction(((i % LANES + round) & (LANES - 1)) + (round & 3) * LANES);
        return sum;
    }, 1e-4);
    bench.run("fault", kernel, [&] { faulty<<<BLOCKS, BLOCK>>>(out); });
    bench.run("repair", "sum_stride_1", [&] { sum_stride_1<<<BLOCKS, BLOCK>>>(out); });
}
}  // namespace

CASE(shared_stride_8) { measure(bench, "sum_stride_8", sum_stride_8); }
CASE(shared_stride_2) { measure(bench, "sum_stride_2", sum_stride_2); }

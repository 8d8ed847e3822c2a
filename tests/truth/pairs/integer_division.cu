// Division and remainder by a divisor known only at run time, which is a power of two: the twin
// shifts and masks.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 21, ROUNDS = 64;
constexpr unsigned WIDTH = 1024, SHIFT = 10;

__global__ void hash_by_division(unsigned *out, unsigned width) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int k = 0; k < ROUNDS; ++k) {
        unsigned place = i * 2654435761U + k * 40503U;
        sum += (place / width) ^ (place % width);
    }
    out[i] = sum;
}

__global__ void hash_by_shift(unsigned *out, unsigned shift) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0, mask = (1U << shift) - 1;
    for (int k = 0; k < ROUNDS; ++k) {
        unsigned place = i * 2654435761U + k * 40503U;
        sum += (place >> shift) ^ (place & mask);
    }
    out[i] = sum;
}
}  // namespace

CASE(integer_division) {
    Buffer<unsigned> out(N);
    bench.output(out, 0xFF, [](size_t i) {
        unsigned sum = 0;
        for (int k = 0; k < ROUNDS; ++k) {
            unsigned place = unsigned(i) * 2654435761U + k * 40503U;
            sum += (place / WIDTH) ^ (place % WIDTH);
        }
        return double(sum);
    }, 0);
    bench.run("fault", "hash_by_division", [&] { hash_by_division<<<N / 256, 256>>>(out, WIDTH); });
    bench.run("repair", "hash_by_shift", [&] { hash_by_shift<<<N / 256, 256>>>(out, SHIFT); });
}

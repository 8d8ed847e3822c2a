// The same set of places gathered in random order and in rising order.
#include "../bench.cuh"

namespace {
constexpr unsigned N = 1U << 24, SHIFT = 2654435769U;

__global__ void gather_random(const float *table, const unsigned *places, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[places[i]];
}

__global__ void gather_sorted(const float *table, const unsigned *places, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[places[i]];
}

// An odd factor permutes the places.
unsigned permuted(unsigned i) { return (i * SHIFT) & (N - 1); }
}  // namespace

CASE(random_gather) {
    std::vector<unsigned> shuffled(N), rising(N);
    for (unsigned i = 0; i < N; ++i) {
        shuffled[i] = permuted(i);
        rising[i] = i;
    }
    Buffer<unsigned> random(shuffled), sorted(rising);
    Buffer<float> table(tabulated(N, [](size_t i) { return fraction(i); })), out(N);
    bench.output(out, 0xFF, [](size_t i) { return fraction(permuted(i)); }, 0);
    bench.run("fault", "gather_random", [&] { gather_random<<<N / 256, 256>>>(table, random, out); });
    bench.output(out, 0xFF, [](size_t i) { return fraction(i); }, 0);
    bench.run("repair", "gather_sorted", [&] { gather_sorted<<<N / 256, 256>>>(table, sorted, out); });
}

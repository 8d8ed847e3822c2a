// Eight kinds of work: kinds alternate from lane to lane, or come sorted so that a warp has one.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 21, KINDS = 8, ROUNDS = 128;

template <class Number>
__host__ __device__ inline Number worked(int kind, Number x) {
    switch (kind) {
        case 0: for (int k = 0; k < ROUNDS; ++k) x = x * Number(0.75) + Number(0.125); break;
        case 1: for (int k = 0; k < ROUNDS; ++k) x = x * x * Number(0.5) + Number(0.25); break;
        case 2: for (int k = 0; k < ROUNDS; ++k) x = Number(1) - x * Number(0.375); break;
        case 3: for (int k = 0; k < ROUNDS; ++k) x = (x > Number(0.5) ? x - Number(0.5) : x) * Number(0.875) + Number(0.05); break;
        case 4: for (int k = 0; k < ROUNDS; ++k) x = x * (Number(1) - x) * Number(2.5); break;
        case 5: for (int k = 0; k < ROUNDS; ++k) x = (x + Number(0.625)) * Number(0.5); break;
        case 6: for (int k = 0; k < ROUNDS; ++k) x = Number(0.3) - x * x * Number(0.5); break;
        default: for (int k = 0; k < ROUNDS; ++k) x = x * x * x * Number(0.25) + Number(0.4); break;
    }
    return x;
}

__global__ void work_of_mixed_kinds(const float *in, const unsigned char *kinds, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = worked(kinds[i], in[i]);
}

__global__ void work_of_sorted_kinds(const float *in, const unsigned char *kinds, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = worked(kinds[i], in[i]);
}

size_t origin(size_t sorted) { return (sorted % (N / KINDS)) * KINDS + sorted / (N / KINDS); }
}  // namespace

CASE(divergent_branches) {
    std::vector<unsigned char> mixed_kinds(N), sorted_kinds(N);
    for (size_t i = 0; i < N; ++i) {
        mixed_kinds[i] = i % KINDS;
        sorted_kinds[i] = i / (N / KINDS);
    }
    Buffer<unsigned char> mixed_order(mixed_kinds), sorted_order(sorted_kinds);
    Buffer<float> in(tabulated(N, [](size_t i) { return fraction(i); }));
    Buffer<float> sorted_in(tabulated(N, [](size_t i) { return fraction(origin(i)); }));
    Buffer<float> out(N);
    bench.output(out, 0xFF, [](size_t i) { return worked<double>(i % KINDS, fraction(i)); }, 1e-3);
    bench.run("fault", "work_of_mixed_kinds", [&] { work_of_mixed_kinds<<<N / 256, 256>>>(in, mixed_order, out); });
    bench.output(out, 0xFF, [](size_t i) { return worked<double>(i / (N / KINDS), fraction(origin(i))); }, 1e-3);
    bench.run("repair", "work_of_sorted_kinds", [&] { work_of_sorted_kinds<<<N / 256, 256>>>(sorted_in, sorted_order, out); });
}

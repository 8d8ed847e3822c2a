// Distances from three of eight fields: an array of structures against a structure of arrays.
#include "../bench.cuh"

namespace {
constexpr int N = 1 << 23;

struct Particle {
    float x, y, z, vx, vy, vz, mass, charge;
};

__global__ void distances_of_structures(const Particle *particles, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = particles[i].x, z = particles[i].z, mass = particles[i].mass;
    out[i] = sqrtf(x * x + z * z) * mass;
}

__global__ void distances_of_arrays(const float *xs, const float *zs, const float *masses, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = xs[i], z = zs[i], mass = masses[i];
    out[i] = sqrtf(x * x + z * z) * mass;
}
}  // namespace

CASE(array_of_structures) {
    auto field = [](size_t i, int k) { return fraction(i * 3 + k); };
    std::vector<Particle> host(N);
    for (size_t i = 0; i < N; ++i) host[i] = {field(i, 0), 0, field(i, 1), 0, 0, 0, field(i, 2), 0};
    Buffer<Particle> particles(host);
    Buffer<float> xs(tabulated(N, [=](size_t i) { return field(i, 0); }));
    Buffer<float> zs(tabulated(N, [=](size_t i) { return field(i, 1); }));
    Buffer<float> masses(tabulated(N, [=](size_t i) { return field(i, 2); }));
    Buffer<float> out(N);
    bench.output(out, 0xFF, [=](size_t i) { return std::hypot(field(i, 0), field(i, 1)) * field(i, 2); }, 1e-5);
    bench.run("fault", "distances_of_structures", [&] { distances_of_structures<<<N / 256, 256>>>(particles, out); });
    bench.run("repair", "distances_of_arrays", [&] { distances_of_arrays<<<N / 256, 256>>>(xs, zs, masses, out); });
}

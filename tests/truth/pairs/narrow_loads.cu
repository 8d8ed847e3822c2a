// The same bytes in words of one byte or four, against words of sixteen.
#include "../bench.cuh"

namespace {
constexpr size_t BYTES = size_t(1) << 26;
constexpr unsigned char KEY = 0x5A;
constexpr size_t FLOATS = size_t(1) << 26;

__global__ void mask_bytes(const unsigned char *in, unsigned char *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    out[i] = in[i] ^ KEY;
}

__global__ void mask_vectors(const uint4 *in, uint4 *out) {
    constexpr unsigned word = KEY * 0x01010101U;
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    uint4 v = in[i];
    out[i] = make_uint4(v.x ^ word, v.y ^ word, v.z ^ word, v.w ^ word);
}

__global__ void scale_words(const float *in, float *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    out[i] = in[i] * 2.0f;
}

__global__ void scale_vectors(const float4 *in, float4 *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.x * 2.0f, v.y * 2.0f, v.z * 2.0f, v.w * 2.0f);
}
}  // namespace

CASE(byte_loads) {
    std::vector<unsigned char> host(BYTES);
    for (size_t i = 0; i < BYTES; ++i) host[i] = mixed(i);
    Buffer<unsigned char> in(host), out(BYTES);
    bench.output(out, 0, [](size_t i) { return double((mixed(i) & 0xFF) ^ KEY); }, 0);
    bench.run("fault", "mask_bytes", [&] { mask_bytes<<<BYTES / 256, 256>>>(in, out); });
    bench.run("repair", "mask_vectors", [&] {
        mask_vectors<<<BYTES / 16 / 256, 256>>>(reinterpret_cast<uint4 *>(in.data()), reinterpret_cast<uint4 *>(out.data()));
    });
}

CASE(word_loads) {
    Buffer<float> in(tabulated(FLOATS, [](size_t i) { return fraction(i); })), out(FLOATS);
    bench.output(out, 0xFF, [](size_t i) { return fraction(i) * 2.0; }, 0);
    bench.run("fault", "scale_words", [&] { scale_words<<<FLOATS / 256, 256>>>(in, out); });
    bench.run("repair", "scale_vectors", [&] {
        scale_vectors<<<FLOATS / 4 / 256, 256>>>(reinterpret_cast<float4 *>(in.data()), reinterpret_cast<float4 *>(out.data()));
    });
}

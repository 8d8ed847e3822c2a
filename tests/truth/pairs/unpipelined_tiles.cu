// Tiles brought to shared memory and worked on in turn by one block per multiprocessor, against
// tiles fetched asynchronously while the one before is worked on.
#include <cuda_pipeline.h>

#include "../bench.cuh"

namespace {
constexpr int BLOCK = 256, WORDS = 4, TILE = BLOCK * WORDS, TILES = 192, STAGES = 4, ROUNDS = 24;
constexpr int RESERVED_BYTES = 120 * 1024;  // one block per multiprocessor

__host__ __device__ inline float worked(float x, float y) {
    for (int k = 0; k < ROUNDS; ++k) x = x * 0.75f + y * 0.125f;
    return x;
}

__device__ float tile_sum(const float4 *tile) {
    float4 mine = tile[threadIdx.x], next = tile[(threadIdx.x + 1) % BLOCK];
    return worked(mine.x, next.x) + worked(mine.y, next.y) + worked(mine.z, next.z) + worked(mine.w, next.w);
}

__global__ void tiles_in_turn(const float4 *in, float *out) {
    extern __shared__ float4 tile[];
    float sum = 0.0f;
    for (int t = 0; t < TILES; ++t) {
        tile[threadIdx.x] = in[(size_t(t) * gridDim.x + blockIdx.x) * BLOCK + threadIdx.x];
        __syncthreads();
        sum += tile_sum(tile);
        __syncthreads();
    }
    out[blockIdx.x * BLOCK + threadIdx.x] = sum;
}

__global__ void tiles_pipelined(const float4 *in, float *out) {
    extern __shared__ float4 tiles[];
    auto fetch = [&](int t) {
        if (t < TILES)
            __pipeline_memcpy_async(&tiles[t % STAGES * BLOCK + threadIdx.x],
                                    &in[(size_t(t) * gridDim.x + blockIdx.x) * BLOCK + threadIdx.x], sizeof(float4));
        __pipeline_commit();
    };
    for (int t = 0; t < STAGES - 1; ++t) fetch(t);
    float sum = 0.0f;
    for (int t = 0; t < TILES; ++t) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        fetch(t + STAGES - 1);
        sum += tile_sum(&tiles[t % STAGES * BLOCK]);
    }
    out[blockIdx.x * BLOCK + threadIdx.x] = sum;
}
}  // namespace

CASE(unpipelined_tiles) {
    int blocks = multiprocessors();
    Buffer<float> in(tabulated(size_t(blocks) * TILE * TILES, [](size_t i) { return fraction(i); }));
    Buffer<float> out(size_t(blocks) * BLOCK);
    auto *source = reinterpret_cast<float4 *>(in.data());
    for (auto kernel : {tiles_in_turn, tiles_pipelined})
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, RESERVED_BYTES));
    bench.output(out, 0xFF, [=](size_t i) {
        size_t block = i / BLOCK, thread = i % BLOCK, next = (thread + 1) % BLOCK;
        double sum = 0;
        for (size_t t = 0; t < TILES; ++t)
            for (size_t word = 0; word < WORDS; ++word) {
                size_t tile = (t * blocks + block) * TILE;
                sum += worked(fraction(tile + thread * WORDS + word), fraction(tile + next * WORDS + word));
            }
        return sum;
    }, 1e-3);
    bench.run("fault", "tiles_in_turn", [&] { tiles_in_turn<<<blocks, BLOCK, RESERVED_BYTES>>>(source, out); });
    bench.run("repair", "tiles_pipelined", [&] { tiles_pipelined<<<blocks, BLOCK, RESERVED_BYTES>>>(source, out); });
}

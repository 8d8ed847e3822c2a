// Matrix products: every operand read again from global memory, against tiles in shared memory;
// and half-precision tiles multiplied on the FMA pipe, against the tensor cores.
#include <cuda_fp16.h>
#include <mma.h>

#include "../bench.cuh"

namespace {
constexpr int SIDE = 1024, TILE = 32, PER_THREAD = 4;

__host__ __device__ inline float left(size_t i) { return (mixed(i) & 7) * 0.125f; }
__host__ __device__ inline float right(size_t i) { return (mixed(i + 77777) & 7) * 0.25f - 1.0f; }

double product(size_t i) {
    double sum = 0;
    for (size_t k = 0; k < SIDE; ++k) sum += double(left(i / SIDE * SIDE + k)) * right(k * SIDE + i % SIDE);
    return sum;
}

__global__ void multiply_from_global(const float *a, const float *b, float *c) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < SIDE; ++k) sum += a[row * SIDE + k] * b[k * SIDE + column];
    c[row * SIDE + column] = sum;
}

// A 64 x 64 tile of the result per block of 256 threads, 4 x 4 per thread.
constexpr int WIDE = 64, DEPTH = 16;

template <class T>
__device__ void multiply_tiles(const T *a, const T *b, float *c) {
    __shared__ __align__(16) float as[DEPTH][WIDE + 4];
    __shared__ __align__(16) float bs[DEPTH][WIDE];
    int row0 = blockIdx.y * WIDE, column0 = blockIdx.x * WIDE;
    int x = threadIdx.x % (WIDE / PER_THREAD), y = threadIdx.x / (WIDE / PER_THREAD);
    float sums[PER_THREAD][PER_THREAD] = {};
    for (int step = 0; step < SIDE; step += DEPTH) {
        for (int i = threadIdx.x; i < WIDE * DEPTH; i += 256) {
            as[i % DEPTH][i / DEPTH] = float(a[(row0 + i / DEPTH) * SIDE + step + i % DEPTH]);
            bs[i / WIDE][i % WIDE] = float(b[(step + i / WIDE) * SIDE + column0 + i % WIDE]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float4 l = *reinterpret_cast<float4 *>(&as[k][y * PER_THREAD]);
            float4 r = *reinterpret_cast<float4 *>(&bs[k][x * PER_THREAD]);
            float ls[] = {l.x, l.y, l.z, l.w}, rs[] = {r.x, r.y, r.z, r.w};
#pragma unroll
            for (int i = 0; i < PER_THREAD; ++i)
#pragma unroll
                for (int j = 0; j < PER_THREAD; ++j) sums[i][j] += ls[i] * rs[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < PER_THREAD; ++i)
        for (int j = 0; j < PER_THREAD; ++j)
            c[(row0 + y * PER_THREAD + i) * SIDE + column0 + x * PER_THREAD + j] = sums[i][j];
}

__global__ void multiply_from_shared(const float *a, const float *b, float *c) { multiply_tiles(a, b, c); }
__global__ void multiply_half_on_fma(const half *a, const half *b, float *c) { multiply_tiles(a, b, c); }

// A 64 x 64 tile per block of four warps, each 32 x 32 as 2 x 2 tensor tiles.
__global__ void multiply_half_on_tensor(const half *a, const half *b, float *c) {
    using namespace nvcuda::wmma;
    constexpr int M = 16, STEP = 32, PAD = 8;
    __shared__ __align__(32) half as[WIDE][STEP + PAD];
    __shared__ __align__(32) half bs[STEP][WIDE + PAD];
    int row0 = blockIdx.y * WIDE, column0 = blockIdx.x * WIDE, warp = threadIdx.x / 32;
    int row = warp / 2 * 32, column = warp % 2 * 32;
    fragment<accumulator, M, M, M, float> sums[2][2];
    for (auto &line : sums)
        for (auto &sum : line) fill_fragment(sum, 0.0f);
    for (int step = 0; step < SIDE; step += STEP) {
        for (int i = threadIdx.x; i < WIDE * STEP / 8; i += 128) {
            int r = i / (STEP / 8), k = i % (STEP / 8) * 8;
            *reinterpret_cast<uint4 *>(&as[r][k]) = *reinterpret_cast<const uint4 *>(&a[(row0 + r) * SIDE + step + k]);
            r = i / (WIDE / 8), k = i % (WIDE / 8) * 8;
            *reinterpret_cast<uint4 *>(&bs[r][k]) = *reinterpret_cast<const uint4 *>(&b[(step + r) * SIDE + column0 + k]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < STEP; k += M) {
            fragment<matrix_a, M, M, M, half, row_major> l[2];
            fragment<matrix_b, M, M, M, half, row_major> r[2];
            for (int i = 0; i < 2; ++i) {
                load_matrix_sync(l[i], &as[row + i * M][k], STEP + PAD);
                load_matrix_sync(r[i], &bs[k][column + i * M], WIDE + PAD);
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) mma_sync(sums[i][j], l[i], r[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            store_matrix_sync(c + (row0 + row + i * M) * SIDE + column0 + column + j * M, sums[i][j], SIDE, mem_row_major);
}

std::vector<half> halves(float (*value)(size_t)) {
    std::vector<half> host(size_t(SIDE) * SIDE);
    for (size_t i = 0; i < host.size(); ++i) host[i] = __float2half(value(i));
    return host;
}
}  // namespace

CASE(matrix_product_without_tiles) {
    Buffer<float> a(tabulated(size_t(SIDE) * SIDE, left)), b(tabulated(size_t(SIDE) * SIDE, right)), c(size_t(SIDE) * SIDE);
    bench.output(c, 0xFF, product, 1e-4);
    dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, TILE), tiles(SIDE / WIDE, SIDE / WIDE);
    bench.run("fault", "multiply_from_global", [&] { multiply_from_global<<<grid, block>>>(a, b, c); });
    bench.run("repair", "multiply_from_shared", [&] { multiply_from_shared<<<tiles, 256>>>(a, b, c); });
}

CASE(matrix_product_without_tensor_cores) {
    Buffer<half> a(halves(left)), b(halves(right));
    Buffer<float> c(size_t(SIDE) * SIDE);
    bench.output(c, 0xFF, product, 1e-3);
    dim3 tiles(SIDE / WIDE, SIDE / WIDE);
    bench.run("fault", "multiply_half_on_fma", [&] { multiply_half_on_fma<<<tiles, 256>>>(a, b, c); });
    bench.run("repair", "multiply_half_on_tensor", [&] { multiply_half_on_tensor<<<tiles, 128>>>(a, b, c); });
}

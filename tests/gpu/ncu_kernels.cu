// Eight kernels, each with one thing that a profile shows: profiled by record_ncu.sh.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        cudaError_t error = (call);                                                       \
        if (error != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));           \
            return 1;                                                                     \
        }                                                                                 \
    } while (0)

constexpr int N = 1 << 26;   // elements of the streaming kernels, 256 MiB of floats: beyond L2
constexpr int SIDE = 2048;   // rows and columns of the matrices
constexpr int TILE = 32;

__global__ void elementwise(const float4 *a, const float4 *b, float4 *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 x = a[i], y = b[i];
        c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
}

__global__ void strided(const float *a, float *c, int n, int stride) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    if (i < n) c[i] = a[i] * 2.0f;
}

__global__ void reduction(const float *a, float *sum, int n) {
    __shared__ float partial[256];
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += a[i];
    partial[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum, partial[0]);
}

// Launch bounds leave 32 registers for 96 live values.
__global__ void __launch_bounds__(1024, 2) spilling(const float *a, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[96];
#pragma unroll
    for (int k = 0; k < 96; ++k) v[k] = a[(i + k * 1031) % n];
#pragma unroll
    for (int round = 0; round < 4; ++round)
#pragma unroll
        for (int k = 0; k < 96; ++k) v[k] = v[k] * v[(k * 7 + 1) % 96] + 1.0f;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 96; ++k) sum += v[k];
    c[i % n] = sum;
}

// 32 x 32 without padding: the column read is a 32-way bank conflict.
__global__ void transpose_conflict(const float *in, float *out, int side) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * side + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8) out[(y + j) * side + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Every lane of a warp takes its own path.
__global__ void divergent(float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = i * 0.5f;
    switch (threadIdx.x % 8) {
        case 0: for (int k = 0; k < 64; ++k) x = x * 1.01f + 1.0f; break;
        case 1: for (int k = 0; k < 48; ++k) x = sqrtf(x + k); break;
        case 2: for (int k = 0; k < 40; ++k) x = x / (k + 1.5f); break;
        case 3: for (int k = 0; k < 56; ++k) x = fabsf(x - k) * 0.9f; break;
        case 4: for (int k = 0; k < 32; ++k) x = expf(-x) + k; break;
        case 5: for (int k = 0; k < 32; ++k) x = sinf(x) + k; break;
        case 6: for (int k = 0; k < 64; ++k) x = fmaxf(x, k) * 0.99f; break;
        default: for (int k = 0; k < 64; ++k) x = x * x * 1e-3f + 1.0f; break;
    }
    c[i] = x;
}

__global__ void sgemm_tiled(const float *a, const float *b, float *c, int side) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int step = 0; step < side; step += TILE) {
        as[threadIdx.y][threadIdx.x] = a[row * side + step + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(step + threadIdx.y) * side + column];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * side + column] = sum;
}

// One block per row: maximum, sum of exponentials, division.
__global__ void softmax_rows(const float *in, float *out, int columns) {
    __shared__ float partial[256];
    const float *row = in + (size_t)blockIdx.x * columns;
    float best = -1e30f, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) best = fmaxf(best, row[i]);
    partial[threadIdx.x] = best;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    best = partial[0];
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - best);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    sum = partial[0];
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[(size_t)blockIdx.x * columns + i] = expf(row[i] - best) / sum;
}

int main() {
    float *a, *b, *c;
    CHECK(cudaMalloc(&a, N * sizeof(float)));
    CHECK(cudaMalloc(&b, N * sizeof(float)));
    CHECK(cudaMalloc(&c, N * sizeof(float)));
    CHECK(cudaMemset(a, 1, N * sizeof(float)));
    CHECK(cudaMemset(b, 1, N * sizeof(float)));
    std::printf("eight kernels, one launch each\n");
    elementwise<<<(N / 4 + 255) / 256, 256>>>((float4 *)a, (float4 *)b, (float4 *)c, N / 4);
    strided<<<N / 8 / 256, 256>>>(a, c, N, 8);
    reduction<<<264, 256>>>(a, c, N);
    spilling<<<N / 16 / 1024, 1024>>>(a, c, N);
    transpose_conflict<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, 8)>>>(a, c, SIDE);
    divergent<<<N / 16 / 256, 256>>>(c, N / 16);
    sgemm_tiled<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE)>>>(a, b, c, SIDE);
    softmax_rows<<<4096, 256>>>(a, c, 8192);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::printf("done\n");
    return 0;
}

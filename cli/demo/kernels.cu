constexpr int TILE = 32;

// Each lane reads a word of its own sector.
__global__ void strided(const float *a, float *c, int n, int stride) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    if (i < n) c[i] = a[i] * 2.0f;
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

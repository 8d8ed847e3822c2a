#include <cuda_runtime.h>
#define TILE 32
#if CUDA_VERSION >= 12000
__constant__ float c[4];
#endif
__global__ void __launch_bounds__(256) k(float *a, const float *b, int n) {
    __shared__ float t[TILE][TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned j = 0; j < 8; j++) t[threadIdx.x][j] = b[i * 8 + j] * 0.5;
    if (threadIdx.x < 5) __syncthreads();
    a[i / 3 % n] = pow(t[0][threadIdx.x], 2.0) + sqrt(b[i]);
}
void run(float *a, float *b) {
    for (int i = 0; i < 9; i++) { cudaMalloc(&a, 4); k<<<(1000 + 255) / 256, 100>>>(a, b, 7); cudaFree(a); }
    cudaMemcpy(b, a, 4, cudaMemcpyDeviceToHost);
    cudaDeviceSynchronize();
}

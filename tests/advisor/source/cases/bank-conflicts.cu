// Tiles whose columns lie in one bank of shared memory, read or written by neighbouring lanes.
#define TILE 32
const int SIDE = 16;
__global__ void transposed(float *out, const float *in, int n) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  // expect: bank-conflicts
}
__global__ void padded(float *out, const float *in, int n) {
  __shared__ float tile[32][33];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void by_macro(int *out) {
  __shared__ int tile[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  for (int k = 0; k < TILE; k += 8) {
    tile[tx][ty + k] = k;  // expect: bank-conflicts
  }
  __syncthreads();
  out[ty * TILE + tx] = tile[ty][tx];
}
__global__ void padded_by_macro(int *out) {
  __shared__ int tile[TILE][TILE + 1];
  tile[threadIdx.x][threadIdx.y] = 1;
  out[threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}
__global__ void half_a_warp(float *out) {
  __shared__ float tile[SIDE][SIDE];
  tile[threadIdx.x][threadIdx.y] = out[0];  // expect: bank-conflicts
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}
__global__ void small_tile(float *out) {
  __shared__ float tile[8][8];
  tile[threadIdx.x][threadIdx.y] = out[0];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}
__global__ void rows_first(float *out) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}
__global__ void doubles(double *out, const double *in) {
  __shared__ double tile[32][32];
  const int lane = threadIdx.x;
  tile[lane][threadIdx.y] = in[lane];  // expect: bank-conflicts
  __syncthreads();
  out[lane] = tile[threadIdx.y][lane];
}
__global__ void exchanged_bits(float *out) {
  __shared__ float tile[32][32];
  tile[threadIdx.x][threadIdx.y ^ threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.y][threadIdx.x ^ threadIdx.y];
}
__global__ void diagonal(float *out) {
  __shared__ float tile[32][32];
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.x];
}
template <int N> __global__ void of_template(float *out) {
  __shared__ float tile[N][N];
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void one_lane(float *out) {
  __shared__ float tile[32][32];
  if (threadIdx.x == 0) out[0] = tile[threadIdx.x][threadIdx.y];
}
__global__ void few_lanes(float *out) {
  __shared__ float tile[32][32];
  if (threadIdx.x < 4) out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void all_read_the_same(float *out, int k) {
  __shared__ float tile[32][32];
  out[threadIdx.x] = tile[k][threadIdx.y];
}
__global__ void in_global_memory(float (*tile)[32], float *out) {
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void own_array(float *out) {
  float tile[32][32];
  for (int k = 0; k < 32; ++k) tile[threadIdx.x][k] = k;
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void odd_width(float *out) {
  __shared__ float tile[32][21];
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void bytes(unsigned char *out) {
  __shared__ unsigned char tile[32][32];
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void sums_of_rows(float *out, const float *in) {
  __shared__ float tile[64][64];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 64; ++k) {
    sum += tile[threadIdx.x][k];  // expect: bank-conflicts
  }
  out[threadIdx.x] = sum;
}
__global__ void within_bounds(float *out, const float *in, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x;
  if (x >= n) return;
  tile[threadIdx.y][threadIdx.x] = in[x];
  __syncthreads();
  if (x < n && threadIdx.y < n) {
    out[x] = tile[threadIdx.x][threadIdx.y];  // expect: bank-conflicts
  }
}
__global__ void every_second_row(float *out) {
  __shared__ float tile[64][32];
  out[threadIdx.x] = tile[2 * threadIdx.x][threadIdx.y];  // expect: bank-conflicts
}
__global__ void wide_rows(unsigned *out) {
  __shared__ unsigned tile[32][96];
  const unsigned lane = threadIdx.x;
  for (int k = 0; k < 96; ++k) out[lane] += tile[lane][k];  // expect: bank-conflicts
}
__global__ void of_one_warp(int *out) {
  __shared__ int tile[32][8];
  tile[threadIdx.x][0] = out[threadIdx.x];  // expect: bank-conflicts
}
__global__ void narrow_block(float *out) {
  __shared__ float tile[32][32];
  out[threadIdx.y] = tile[threadIdx.x][threadIdx.y];
}
__global__ void address_alone(float *out) {
  __shared__ float tile[32][32];
  float *row = &(tile[threadIdx.x][0]);
  for (int k = 0; k < 32; ++k) row[(k + threadIdx.x) % 32] = k;
  out[threadIdx.x] = tile[0][threadIdx.x];
}
__global__ void of_pointers(float *out) {
  __shared__ float *tile[16][8];
  out[threadIdx.x] = *tile[threadIdx.x][0];
}
__global__ void sum_of_each_warp(float *out) {
  __shared__ float sums[32][8];
  if (threadIdx.x < (blockDim.x >> 5)) out[threadIdx.x] = sums[threadIdx.x][0];
}
__global__ void sum_or_nothing(float *out) {
  __shared__ float sums[32][8];
  out[threadIdx.x] = threadIdx.x < blockDim.x / warpSize ? sums[threadIdx.x][0] : 0;
}
__global__ void half_of_the_block(float *out) {
  __shared__ float sums[32][32];
  if (threadIdx.x < blockDim.x / 2) {
    out[threadIdx.x] = sums[threadIdx.x][0];  // expect: bank-conflicts
  }
}
__global__ void at_most_four(float *out, int n) {
  __shared__ float tile[32][32];
  if (threadIdx.x < min(n, 4)) out[threadIdx.x] = tile[threadIdx.x][0];
}
__global__ void moved_by_some(float *out) {
  __shared__ float tile[32][32];
  int column = 0;
  if (threadIdx.x & 1) column = 1;
  out[threadIdx.x] = tile[threadIdx.x][column];
}
__global__ void counted_by_each(float *out) {
  __shared__ float tile[32][32];
  int column = 0;
  while (column < threadIdx.x) column++;
  out[threadIdx.x] = tile[threadIdx.x][column];
}
__global__ void counted_together(float *out, int n) {
  __shared__ float tile[32][32];
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int column = 0;
    for (int k = 0; k < n; ++k) {
      column = (column + 1) % 32;
      out[i] += tile[threadIdx.x][column];  // expect: bank-conflicts
    }
  }
}
__global__ void others_gone(float *out) {
  __shared__ float tile[32][32];
  if (threadIdx.x == 0) {
    out[1] = 1;
  } else {
    return;
  }
  out[0] = tile[threadIdx.x][0];
}
__global__ void others_gone_deeper(float *out, int n) {
  __shared__ float tile[32][32];
  if (n > 1) {
    if (threadIdx.x > 0) return;
  }
  out[0] = tile[threadIdx.x][0];
}
__global__ void back_from_a_lambda(float *out) {
  __shared__ float tile[32][32];
  auto first = [](int i) { if (i & 1) return 1; return 0; };
  out[first(threadIdx.x)] = tile[threadIdx.x][0];  // expect: bank-conflicts
}
__global__ void out_of_a_search(float *out, const float *in, int n) {
  __shared__ float tile[32][32];
  for (int k = 0; k < n; ++k) {
    if (in[threadIdx.x + k] > 0) break;
  }
  out[threadIdx.x] = tile[threadIdx.x][0];  // expect: bank-conflicts
  for (int k = 0; k < n; ++k) {
    if (in[threadIdx.x + k] > 0) continue;
    out[threadIdx.x] += tile[threadIdx.x][k];
  }
}
int main(float *out) {
  narrow_block<<<1, dim3(2, 128)>>>(out);
}
__global__ void spread_by_the_loop(float *out, const float *in) {
  __shared__ float sums[256];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) {
    int index = 2 * s * threadIdx.x;
    if (index < blockDim.x) sums[index] += sums[index + s];  // expect: bank-conflicts
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
__global__ void spread_of_any_size(int *out, const int *in) {
  extern __shared__ int sums[];
  int t = threadIdx.x;
  sums[t] = in[t];
  for (unsigned s = 1; s < blockDim.x; s <<= 1) {
    __syncthreads();
    if (2 * s * t < blockDim.x) sums[2 * s * t] += sums[2 * s * t + s];  // expect: bank-conflicts
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}
__global__ void halved_by_the_loop(float *out, const float *in) {
  __shared__ float sums[256];
  sums[threadIdx.x] = in[threadIdx.x];
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    __syncthreads();
    if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}
__global__ void moved_by_the_loop(float *out, const float *in) {
  __shared__ float sums[256];
  for (int s = 1; s < 256; s *= 2) sums[threadIdx.x + s] = in[threadIdx.x];
  out[blockIdx.x] = sums[0];
}
#ifdef USE_DP
typedef double real;
#else
typedef float real;
#endif
__global__ void columns_of_either(real *out, const real *in, int n) {
  __shared__ real tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  // expect: bank-conflicts
}
__global__ void padded_columns_of_either(real *out, const real *in, int n) {
  __shared__ real tile[32][33];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

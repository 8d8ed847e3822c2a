// Atomics of all threads on one address in global memory, or on few.
__global__ void total(float *sum, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, x[i]);  // expect: atomic-contention
}
__global__ void first_element(float *sum, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float value = x[i] * x[i];
  atomicAdd(&sum[0], value);  // expect: atomic-contention
}
__global__ void largest(int *most, const int *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicMax(most, x[i]);  // expect: atomic-contention
  }
}
__global__ void of_each_block(float *sums, const float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sums[blockIdx.x], x[i]);  // expect: atomic-contention
}
__global__ void two_sums(float *sums, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&sums[0], x[i]);  // expect: atomic-contention
    atomicAdd(&sums[1], x[i] * x[i]);
  }
}
__global__ void histogram(int *bins, const unsigned char *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], 1);  // expect: atomic-contention
}
__global__ void histogram_by_name(unsigned *bins, const unsigned char *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned char value = x[i];
    atomicAdd(&bins[value], 1u);  // expect: atomic-contention
  }
}
__global__ void one_per_block(float *sum, const float *x, int n) {
  float part = x[threadIdx.x];
  if (threadIdx.x == 0) atomicAdd(sum, part);
}
__global__ void one_per_warp(float *sum, const float *x, int n) {
  int lane = threadIdx.x % 32;
  float part = x[threadIdx.x];
  if (lane == 0) atomicAdd(sum, part);
}
__global__ void place_in_a_list(int *count, int *list, const int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int at = atomicAdd(count, x[i]);  // expect: atomic-contention
    list[at] = i;
  }
}
__global__ void count_of_all(int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(count, 1);
}
__global__ void where_it_holds(float *sum, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 3) atomicAdd(sum, x[i]);
}
__global__ void scattered(float *sums, const int *at, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[at[i]], x[i]);
}
__global__ void in_shared_memory(float *out, const float *x) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[threadIdx.x]);
}
__global__ void tile_of_bins(int *out, const unsigned char *x) {
  __shared__ int bins[256];
  atomicAdd(&bins[x[threadIdx.x]], 1);
}
__global__ void own_element(float *sums, const float *x) {
  atomicAdd(&sums[threadIdx.x], x[threadIdx.x]);
}
__global__ void along_a_row(float *sums, const float *x, int n) {
  for (int k = 0; k < n; ++k) atomicAdd(&sums[k], x[threadIdx.x * n + k]);  // expect: atomic-contention
}
__global__ void pointer_that_moves(float *sums, const float *x, int n) {
  sums += threadIdx.x;
  atomicAdd(sums, x[threadIdx.x]);
}
__global__ void local_pointer(float *sums, const float *x, int n) {
  float *mine = sums + threadIdx.x;
  atomicAdd(mine, x[threadIdx.x]);
}
__global__ void many_bins(int *bins, const unsigned short *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], 1);
}
__global__ void no_atomic(float *sum, const float *x) { sum[0] = x[threadIdx.x]; }
__global__ void of_a_staged_number(float *sums, const int *ids, const float *x, int n) {
  __shared__ int staged[256];
  for (int i = 0; i < n; ++i) {
    staged[threadIdx.x] = ids[i * 256 + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256; ++j) {
      float v = x[j * 256 + threadIdx.x];
      if (v < 0) continue;
      const int id = staged[j];
      atomicAdd(&(sums[id * 3 + 1]), v);  // expect: atomic-contention
    }
    __syncthreads();
  }
}
__global__ void of_the_nearest(unsigned *counts, const float *x, const float *centres, int clusters) {
  float v = x[blockIdx.x * blockDim.x + threadIdx.x], least = 1e9f;
  int nearest = 0;
  for (int j = 1; j < clusters; ++j)
    if (fabsf(v - centres[j]) < least) {
      least = fabsf(v - centres[j]);
      nearest = j;
    }
  atomicAdd(&counts[nearest], 1);  // expect: atomic-contention
}
__global__ void of_a_scaled_byte(int *bins, const unsigned char *x, int n) {
  unsigned char v = x[blockIdx.x * blockDim.x + threadIdx.x];
  int bin = (v * n) >> 8;
  if (bin >= n) bin = n - 1;
  atomicAdd(&bins[bin], 1);  // expect: atomic-contention
}
__global__ void of_a_loaded_number(int *bins, const int *x) {
  int bin = x[threadIdx.x];
  if (bin < 0) bin = 0;
  atomicAdd(&bins[bin], 1);
}
__global__ void of_a_number_handed_out(int *bins, const unsigned char *x) {
  int bin = 0;
  choose(&bin, x[threadIdx.x]);
  atomicAdd(&bins[bin], 1);
}
__global__ void of_one_thread_of_each_block(float *sums, const float *x, int n) {
  if (threadIdx.x == 0)
    for (int k = 0; k < n; ++k) atomicAdd(&sums[k], x[k]);
}
//---
__global__ void split(float *sums, const float *x, int width, int height) {
  int column = blockIdx.y * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int row = 0; row < 64; ++row) sum += x[(blockIdx.x * 64 + row) * width + column];
  atomicAdd(&sums[column], sum);  // expect: atomic-contention
}
__global__ void down(float *small, const float *x, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int y = i / width, at = y / 2 * (width / 2) + i % width / 2;
  atomicAdd(small + at, x[i]);  // expect: atomic-contention
}
__global__ void windows(float *grad, const float *out, int width, int size) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < size; ++k) atomicAdd(&grad[min(i + k, width - 1)], out[i] / size);  // expect: atomic-contention
}
__global__ void scattered(float *sums, const float *x, const int *where) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, at = where[i] * 4;
  atomicAdd(&sums[at + 1], x[i]);
}
struct Edge { int from, to; };
__global__ void along_edges(float *sums, const Edge *edges, const float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Edge e = edges[i];
  atomicAdd(&sums[e.to], x[i]);
}
__global__ void of_a_block(float *counts, const unsigned char *x) {
  __shared__ float own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[x[blockIdx.x * blockDim.x + threadIdx.x]], 1.f);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
__global__ void by_one_lane(float *sums, float part) {
  if (threadIdx.x == 0) atomicAdd(&sums[blockIdx.y], part);
}
__global__ void by_a_pointer(float *sums, const float *x, int i) {
  float *to = &sums[threadIdx.x];
  atomicAdd(to, x[i]);
}
__global__ void by_a_cell(int *counts, const float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, cell = int(x[i] * 100);
  atomicAdd(&counts[cell], 1);
}

__global__ void nearest_in_shared_memory(float *out, const float *x, const float *centre, int k, int n) {
  __shared__ float sums[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x, label = 0;
  float best = 1e9f;
  for (int j = 0; j < k; ++j)
    if (fabsf(x[i] - centre[j]) < best) {
      best = fabsf(x[i] - centre[j]);
      label = j;
    }
  atomicAdd(&sums[label * 2], x[i]);  // expect: atomic-contention
  atomicAdd(&sums[label * 2 + 1], 1.0f);
}
__global__ void sum_of_blocks(float *total, const float *x, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 128; step > 0; step >>= 1) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, s[0]);  // expect: atomic-contention
}
__global__ void sum_of_a_grid(float *total, const float *x, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}
__global__ void sums_of_rows(float *total, const float *x, int n) {
  float sum = threadIdx.x < n ? x[blockIdx.x * n + threadIdx.x] : 0;
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x == 0) atomicAdd(&total[blockIdx.x], sum);
}
__global__ void places_of_a_ray(int *counter, int *first, const float *length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int samples = 0;
  for (float t = 0; t < length[i]; t += 1) samples++;
  int place = atomicAdd(counter, samples);  // expect: atomic-contention
  first[i] = place;
}
__global__ void one_place_each(int *counter, int *first, const float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] > 0) first[atomicAdd(counter, 1)] = i;
}

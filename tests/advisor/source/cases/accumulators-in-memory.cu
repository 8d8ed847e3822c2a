// Elements of the caller's arrays that each iteration of a loop updates.
__global__ void product(float *c, const float *a, const float *b, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) {
    c[row * n + column] += a[row * n + k] * b[k * n + column];  // expect: accumulators-in-memory
  }
}
__global__ void written_out(float *out, const float *x, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    out[i] = out[i] + x[k * n + i];  // expect: accumulators-in-memory
  }
}
__global__ void by_a_row(float *out, const float *x, int n) {
  int i = threadIdx.x;
  const float *row = x + i * n;
  for (int k = 0; k < n; ++k) out[i] += row[k];  // expect: accumulators-in-memory
}
__global__ void of_one_thread(float *out, const float *x, int n) {
  for (int k = 0; k < n; ++k) out[0] += x[k];  // expect: accumulators-in-memory
}
__global__ void bits(unsigned *out, const unsigned *x, int n) {
  int k = 0;
  while (k < n) {
    out[blockIdx.x] |= x[k];  // expect: accumulators-in-memory
    ++k;
  }
}
__global__ void of_two_loops(float *out, const float *x, int n, int m) {
  int i = threadIdx.x;
  for (int j = 0; j < m; ++j)
    for (int k = 0; k < n; ++k) out[i] += x[j * n + k];  // expect: accumulators-in-memory
}
__global__ void where_it_holds(float *out, const float *x, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    if (x[k] > 0) out[i] -= x[k];  // expect: accumulators-in-memory
  }
}
__global__ void in_a_register(float *out, const float *x, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += x[k];
  out[threadIdx.x] = sum;
}
__global__ void restricted(float *__restrict__ out, const float *__restrict__ x, int n) {
  for (int k = 0; k < n; ++k) out[threadIdx.x] += x[k];
}
__global__ void another_each_time(float *out, const float *x, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) out[k] += x[k];
}
__global__ void pointer_that_moves(float *out, const float *x, int n) {
  for (int k = 0; k < n; ++k) {
    out[0] += x[k];
    out += 32;
  }
}
__global__ void local_array(float *out, const float *x, int n) {
  float sums[4] = {};
  for (int k = 0; k < n; ++k) sums[0] += x[k];
  out[0] = sums[0];
}
__global__ void in_shared_memory(float *out, const float *x, int n) {
  __shared__ float sums[256];
  for (int k = 0; k < n; ++k) sums[threadIdx.x] += x[k];  // expect: accumulators-in-memory
  out[0] = sums[0];
}
__global__ void indirect(float *out, const float *x, const int *at, int n) {
  for (int k = 0; k < n; ++k) out[at[k]] += x[k];
}
__global__ void nothing_loaded(float *out, int n) {
  for (int k = 0; k < n; ++k) out[threadIdx.x] += k;
}
__global__ void same_value_loaded(float *out, const float *x, int n) {
  for (int k = 0; k < n; ++k) out[threadIdx.x] += x[0];
}
__global__ void without_a_loop(float *out, const float *x) { out[threadIdx.x] += x[threadIdx.x]; }
__global__ void set_only(float *out, const float *x, int n) {
  for (int k = 0; k < n; ++k) out[threadIdx.x] = x[k];
}
__global__ void index_of_the_loop(float *out, const float *x, int n) {
  for (int k = 0; k < n; ++k) {
    int at = k * 2;
    out[at] += x[k];
  }
}
__device__ void of_a_function(float *out, const float *x, int n) {
  for (int k = 0; k < n; ++k) out[0] += x[k];
}
__global__ void after_the_loop(float *out, const float *x, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += x[k];
  out[threadIdx.x] += sum;
}
__global__ void by_a_number_taken_apart(float *out, const float *x, int n, int c) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  int k = id % c;
  id /= c;
  int at = k + c * id;
  for (int i = 0; i < n; ++i) out[at] += x[i + n * at];  // expect: accumulators-in-memory
}
__global__ void shared_among_threads(float *out, const float *x, int n) {
  __shared__ float sums[256];
  for (int k = 0; k < n; ++k) {
    sums[threadIdx.x] += x[k];
    __syncthreads();
  }
  out[0] = sums[0];
}
__global__ void one_shared_sum(float *out, const float *x, int n) {
  __shared__ float sums[2];
  for (int k = 0; k < n; ++k) sums[0] += x[k];
  out[0] = sums[0];
}
__global__ void tree_of_sums(float *out, const float *x) {
  __shared__ float sums[256];
  sums[threadIdx.x] = x[threadIdx.x];
  for (int s = 128; s > 0; s /= 2) sums[threadIdx.x] += sums[threadIdx.x + s];
  out[0] = sums[0];
}
__global__ void least_so_far(float *least, const float *x, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k)
    if (x[k * 32 + i] < least[i]) least[i] = x[k * 32 + i];  // expect: accumulators-in-memory
}
__global__ void stored_and_updated(float *a, float *b, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = x[i];
  b[i] = 2 * x[i];
  a[i] += x[i + n];  // expect: accumulators-in-memory
}
__global__ void updated_at_once(float *a, float *b, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = x[i] + x[i + n];
  b[i] = 2 * x[i];
}
__global__ void behind_a_barrier(float *a, float *b, const float *x, int n) {
  int i = threadIdx.x;
  a[i] = x[i];
  b[i] = 2 * x[i];
  __syncthreads();
  a[i] += b[i + 1];
}
__global__ void of_two_branches(float *a, float *b, const float *x, int n) {
  int i = threadIdx.x;
  if (i < n) { a[i] = x[i]; b[i] = 1; } else { a[i] += x[i]; }
}
__global__ void at_another_place(float *a, float *b, const float *x, int n) {
  int i = threadIdx.x;
  a[i] = x[i];
  b[i] = 1;
  i += n;
  a[i] += x[i];
}
__global__ void overlapping(float *out, const float *x, int n) {
  int lane = threadIdx.x;
  for (int k = 1; k < n; ++k) {
    out[k] += x[k * n + lane];
  }
}
__global__ void windows_of_tensors(torch::PackedTensorAccessor32<float, 3, torch::RestrictPtrTraits> out, const float *x, int n) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < n; ++i) {
    out[0][i][at] += x[i];
    if (i > 0) out[0][i - 1][at] += 2 * x[i];  // expect: accumulators-in-memory
  }
}
__global__ void nearest_in_tiles(float *least, const float *x, int n, int m) {
  __shared__ float tile[256];
  for (int first = 0; first < m; first += 256) {
    tile[threadIdx.x] = x[first + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
      float best = 1e30f;
      for (int k = 0; k < 256; ++k) best = fminf(best, tile[k] - x[j]);
      if (first == 0 || least[j] > best) least[j] = best;  // expect: accumulators-in-memory
    }
    __syncthreads();
  }
}
__global__ void another_part_each_round(float *out, const float *x, int n, int m) {
  for (int i = 0; i < m; ++i)
    for (int j = threadIdx.x; j < n; j += blockDim.x) out[i * n + j] += x[j];
}

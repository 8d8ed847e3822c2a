// Tiles that a loop copies from global to shared memory through registers.
#define T 16
__global__ void tiled(float *c, const float *a, int n) {
  __shared__ float s[T][T];
  for (int k = 0; k < n; k += T) {
    s[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + k + threadIdx.x];  // expect: synchronous-staging
    __syncthreads();
    c[0] += s[0][threadIdx.x];
    __syncthreads();
  }
}
__global__ void once(float *c, const float *a) {
  __shared__ float s[T];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  c[threadIdx.x] = s[T - 1 - threadIdx.x];
}
__global__ void asynchronous(float *c, const float *a, int n) {
  __shared__ float s[T];
  for (int k = 0; k < n; k += T) {
    cuda::memcpy_async(&s[threadIdx.x], &a[k], sizeof(float), barrier);
    __syncthreads();
  }
}
__global__ void computed(float *c, const float *a, int n) {
  __shared__ float s[T];
  for (int k = 0; k < n; k += T) {
    s[threadIdx.x] = a[k + threadIdx.x] * 2.0f;
    __syncthreads();
  }
}
__global__ void bytes(char *c, const char *a, int n) {
  __shared__ char s[T];
  for (int k = 0; k < n; k += T) {
    s[threadIdx.x] = a[k + threadIdx.x];
    __syncthreads();
  }
}
__global__ void no_barrier(float *c, const float *a, int n) {
  __shared__ float s[T];
  for (int k = 0; k < n; k += T) s[threadIdx.x] = a[k + threadIdx.x];
}
__global__ void from_shared(float *c, int n) {
  __shared__ float s[T], t[T];
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = t[k];
    __syncthreads();
  }
}
__global__ void to_local(float *c, const float *a, int n) {
  float r[4];
  for (int k = 0; k < 4; ++k) {
    r[k] = a[k];
    __syncthreads();
  }
  c[0] = r[n];
}
__global__ void integers(int *c, const int *a, int n) {
  extern __shared__ int s[];
  for (int k = threadIdx.x; k < n; k += blockDim.x * 2) {
    s[threadIdx.x] = a[k];  // expect: synchronous-staging
    __syncthreads();
  }
}
template <typename E> __global__ void of_template(E *c, const E *a, int n) {
  __shared__ E s[T];
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = a[k];
    __syncthreads();
  }
}
__device__ void helper(float *s, const float *a, int n) {
  for (int k = 0; k < n; ++k) {
    s[k] = a[k];
    __syncthreads();
  }
}
__global__ void groups(double *c, const double *a, int n) {
  __shared__ double s[T];
  auto cta = cg::this_thread_block();
  for (int k = 0; k < n; k += T) {
    s[threadIdx.x] = a[k + threadIdx.x];  // expect: synchronous-staging
    cg::sync(cta);
  }
}
template <int B> __global__ void of_template(int *c, const int *__restrict__ a, int n) {
  __shared__ int tile[B];
  for (int k = 0; k < n; k += B) {
    tile[threadIdx.x] = a[k + threadIdx.x];  // expect: synchronous-staging
    __syncthreads();
    c[k] += tile[B - 1 - threadIdx.x];
    __syncthreads();
  }
}
__global__ void guarded(double *c, const double *a, int n) {
  extern __shared__ double rows[];
  int k = 0;
  while (k < n) {
    if (k + threadIdx.x < n) rows[threadIdx.x] = a[k + threadIdx.x];  // expect: synchronous-staging
    __syncthreads();
    c[threadIdx.x] += rows[0];
    k += blockDim.x;
    __syncthreads();
  }
}
__global__ void by_group(float *c, const float *a, int n) {
  __shared__ float s[T];
  auto block = cooperative_groups::this_thread_block();
  for (int k = 0; k < n; k += T) {
    s[block.thread_rank()] = a[k + block.thread_rank()];  // expect: synchronous-staging
    block.sync();
    c[0] += s[T - 1];
    block.sync();
  }
}

__global__ void wide_tiles(float *out, const float4 *bodies, int n) {
  __shared__ float4 near[128];
  float sum = 0;
  for (int k = 0; k < n; k += 128) {
    near[threadIdx.x] = bodies[k + threadIdx.x];  // expect: synchronous-staging
    __syncthreads();
    for (int i = 0; i < 128; ++i) sum += near[i].w;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void tiles_of_three(float *out, const float3 *bodies, int n) {
  __shared__ float3 near[128];
  float sum = 0;
  for (int k = 0; k < n; k += 128) {
    near[threadIdx.x] = bodies[k + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 128; ++i) sum += near[i].z;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void converted_beside(float *out, const float *a, const half *b, int n) {
  __shared__ float s[128], t[128];
  float sum = 0;
  for (int k = 0; k < n; k += 128) {
    s[threadIdx.x] = a[k + threadIdx.x];
    t[threadIdx.x] = __half2float(b[k + threadIdx.x]);
    __syncthreads();
    for (int i = 0; i < 128; ++i) sum += s[i] * t[i];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void guarded_beside(float *out, const float *a, const float *b, int n, int m) {
  __shared__ float s[128], t[128];
  float sum = 0;
  for (int k = 0; k < n; k += 128) {
    s[threadIdx.x] = a[k + threadIdx.x];  // expect: synchronous-staging
    t[threadIdx.x] = k + threadIdx.x < m ? b[k + threadIdx.x] : 0;
    __syncthreads();
    for (int i = 0; i < 128; ++i) sum += s[i] * t[i];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

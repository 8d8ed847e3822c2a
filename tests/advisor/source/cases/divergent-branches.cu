// A branch counts when its condition alternates between neighbouring lanes, and its paths are long.
__device__ void work(float *);
__global__ void odd_and_even(float *a) {
  if (threadIdx.x % 2 == 0) {  // expect: divergent-branches
    work(a);
  } else {
    work(a + 1);
  }
}
__global__ void bounds(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    work(a + i);
  }
}
__global__ void warp_aligned(float *a) {
  if ((threadIdx.x / 32) % 2 == 0) {
    work(a);
  } else {
    work(a + 1);
  }
}
__global__ void by_warp_number(float *a) {
  int warp = threadIdx.x >> 5;
  if (warp & 1) {
    work(a);
  } else {
    work(a + 1);
  }
}
__global__ void leader(float *a) {
  int lane = threadIdx.x & 31;
  if (lane == 0) {
    work(a);
    work(a + 1);
    work(a + 2);
  }
}
__global__ void leader_by_remainder(float *a) {
  if (threadIdx.x % 32 == 0) {
    work(a);
    work(a + 1);
    work(a + 2);
  }
}
__global__ void interleaved_reduction(float *s) {
  int tid = threadIdx.x;
  for (int step = 1; step < blockDim.x; step *= 2) {
    if (tid % (2 * step) == 0) {  // expect: divergent-branches
      s[tid] += s[tid + step];
    }
    __syncthreads();
  }
}
__global__ void halving_reduction(float *s) {
  for (int step = blockDim.x / 2; step > 0; step >>= 1) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
}
__global__ void predicated(float *a) {
  if (threadIdx.x & 1) a[threadIdx.x] = 0;
}
__global__ void by_block(float *a) {
  if (blockIdx.x % 2) {
    work(a);
  } else {
    work(a + 1);
  }
}
__global__ void by_data(float *a, const int *kind) {
  if (kind[threadIdx.x] % 2) {
    work(a);
  } else {
    work(a + 1);
  }
}
__global__ void quads(float *a) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if ((id & 3) == 0) {  // expect: divergent-branches
    for (int k = 0; k < 9; ++k) a[id] += k;
  }
}
template <int G> __global__ void group_of_template(float *a) {
  if (threadIdx.x % G == 0) {
    work(a);
    work(a + 1);
    work(a + 2);
  }
}
__global__ void first_half(float *a) {
  if (threadIdx.x < 64) {
    work(a);
  } else {
    work(a + 1);
  }
}
void on_the_host(float *a, int i) {
  if (i % 2) work(a); else work(a + 1);
}
__global__ void third(float *a) {
  const unsigned t = threadIdx.x;
  if (t % 3 == 1) {  // expect: divergent-branches
    work(a);
  } else {
    work(a + 2);
  }
}
// One path alone runs with some lanes idle, and nothing runs after it.
__global__ void leader_of_four(float *a) {
  if (threadIdx.x % 4 == 0) {
    work(a);
    work(a + 1);
    work(a + 2);
    work(a + 3);
  }
}
__global__ void one_short_path(float *a) {
  if (threadIdx.x & 1) {
    work(a);
    work(a + 1);
  } else {
    a[threadIdx.x] = 0;
  }
}
__global__ void eighth(float *a, int n) {
  if (threadIdx.x % 8 != 0) {  // expect: divergent-branches
    for (int i = 0; i < n; ++i) a[i] += 1;
  } else {
    work(a);
  }
}
__global__ void tree_of_remainders(float *x) {
  for (int step = 1; step < blockDim.x; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) {  // expect: divergent-branches
      x[threadIdx.x] += x[threadIdx.x + step];
    }
  }
}

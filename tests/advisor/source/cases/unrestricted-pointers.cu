// Pointers that a kernel only reads, where a load may follow a store.
__global__ void accumulated(float *out, const float *in, int n) {  // expect: unrestricted-pointers
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] += in[i];
}
__global__ void restricted(float *__restrict__ out, const float *__restrict__ in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] += in[i];
}
__global__ void one_store(float *out, const float *in, int i) { out[i] = in[i]; }
__global__ void store_between(float *out, float *in, int i) {
  out[i] = in[i];
  out[i + 1] = 2 * in[i + 1];
}
__global__ void straight_copies(float *out, float *in, int i) {
  out[i] = in[i];
  out[i + 1] = in[i + 1];
}
__device__ float slope(const float *in, int i) { return in[i + 1] - in[i]; }
__global__ void loaded_by_functions(float *out, const float *in, int i) {  // expect: unrestricted-pointers
  out[i] = slope(in, i);
  out[i + 1] = slope(in, i + 1);
  return;
}
__global__ void one_pointer(float *a, int n) {
  for (int i = 0; i < n; ++i) a[i] += 1;
}
__global__ void both_written(float *a, float *b, int n) {
  for (int i = 0; i < n; ++i) a[i] = b[i]++;
}
__global__ void passed_on(float *out, float *in, int n) {
  for (int i = 0; i < n; ++i) out[i] = helper(in, i);
}
__global__ void local_pointer(float *out, float *in, int n) {
  float *p = in + 1;
  for (int i = 0; i < n; ++i) out[i] = p[i] + in[i];
}
__global__ void only_read(const float *a, const float *b, int n) {
  for (int i = 0; i < n; ++i) consume(a[i] + b[i]);
}
template <typename T> __global__ void of_template(T *out, const T *in, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i];
}
__device__ void helper(float *out, const float *in, int n) {
  for (int i = 0; i < n; ++i) out[i] += in[i];
}
__global__ void in_place(float *out, const float *in, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] * 2;
}
void launch_in_place(float *a, int n) { in_place<<<1, 32>>>(a, a, n); }
__global__ void pointers_to_pointers(float **out, float **in, int n) {
  for (int i = 0; i < n; ++i) out[i][0] = in[i][0];
}
__global__ void shared_only(float *out, const float *in, int n) {
  __shared__ float s[32];
  for (int i = 0; i < n; ++i) s[threadIdx.x] += in[i];
  out[0] = s[0];
}
__global__ void swapped(int *perm, const int *keys, int n) {  // expect: unrestricted-pointers
  for (int i = 1; i < n; ++i)
    if (keys[i] < keys[i - 1]) perm[i] = perm[i - 1];
}
__global__ void store_and_leave(float *out, const float *in, int n) {
  for (int i = 0; i < n; ++i) {
    if (in[i] > 0) {
      out[threadIdx.x] = 1;
      return;
    }
  }
}
__global__ void other_branch(float *out, const float *in, const int *kind) {
  int i = threadIdx.x;
  float x = 0;
  if (i > 9) {
    out[i] = 0;
  } else {
    x = in[i] + kind[i];
  }
  out[i] = x;
}
__global__ void after_both_branches(float *out, const float *in, int n) {
  int i = threadIdx.x;
  if (i > n) {
    out[i] = 0;
  } else {
    out[i] = 1;
  }
  out[i + n] = 2 * in[i];
}
__global__ void once_behind_a_loop(float *sums, const float *x, const float *scale, int n) {
  int i = threadIdx.x;
  sums[i] = 0;
  for (int k = 0; k < n; ++k) sums[i] += k;
  sums[i] *= scale[i];
}
__device__ float flux(const float *edge, float *speed);
__global__ void beside_addresses(float *out, const float *in, float *step, int n) {  // expect: unrestricted-pointers
  float speed;
  for (int i = 0; i < n; ++i) {
    out[i] = in[i] + flux(in + i, &speed);
    out[i + 1] += speed * in[i + 2];
  }
}
__global__ void types_that_cannot_meet(int *out, const float *in, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] > 0;
}
__global__ void handed_to_who_may_store(float *out, float *in, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] * 2;
  sort(in, n);
}
__global__ void a_few_loads_between(float *out, const float *in, int i) {  // expect: unrestricted-pointers
  out[i] = in[i];
  out[i + 1] = 2 * in[i + 1];
  out[i + 2] = 2 * in[i + 2];
  out[i + 3] = 2 * in[i + 3];
}

// Arrays of one thread that an index of run time reaches.
#define WIDTH 256
__global__ void large(float *out, const float *x) {
  float values[256];  // expect: indexed-local-arrays
  for (int k = 0; k < 256; ++k) values[k] = x[k];
  for (int k = 0; k < 256; ++k) out[k] = values[k] * 2;
}
__global__ void by_a_macro(float *out, const float *x, int n) {
  float values[WIDTH];  // expect: indexed-local-arrays
  for (int k = 0; k < n; ++k) values[k] = x[k];
  out[0] = values[n - 1];
}
__global__ void visited(int *out, const int *next) {
  bool seen[50] = {};  // expect: indexed-local-arrays
  int at = next[threadIdx.x];
  seen[at] = true;
  out[threadIdx.x] = seen[0];
}
__global__ void of_loaded_index(float *out, const int *at) {
  float bins[16];  // expect: indexed-local-arrays
  bins[at[threadIdx.x]] = 1;
  out[0] = bins[0];
}
__device__ float in_a_function(const float *x, int n) {
  float row[32];  // expect: indexed-local-arrays
  for (int i = 0; i < n; ++i) row[i] = x[i];
  return row[n / 2];
}
__global__ void of_two_sides(float *out, int i) {
  float m[4][4];
  float rows[8][8];
  out[0] = m[0][0] + rows[0][0];
  int ranks[20];  // expect: indexed-local-arrays
  ranks[i] = 1;
  out[1] = ranks[0];
}
__global__ void while_it_lasts(float *out, const float *x, int n) {
  float stack[64];  // expect: indexed-local-arrays
  int top = 0;
  while (top < n) {
    stack[top] = x[top];
    ++top;
  }
  out[0] = stack[0];
}
__global__ void written_out(float *out, const float *x) {
  float row[16];
  for (int i = 0; i < 16; ++i) row[i] = x[i];
  for (int i = 0; i < 16; ++i) out[i] = row[i];
}
__global__ void few(float *out, const float *x, int i) {
  float three[3];
  three[i] = x[0];
  out[0] = three[0];
}
__global__ void shared(float *out, const float *x, int i) {
  __shared__ float tile[256];
  tile[threadIdx.x] = x[i];
  out[i] = tile[i];
}
__global__ void by_constants(float *out, const float *x) {
  float row[16];
  row[0] = x[0];
  row[15] = x[1];
  out[0] = row[0] + row[15];
}
template <int N> __global__ void of_a_template(float *out, const float *x, int i) {
  float row[N];
  row[i] = x[i];
  out[0] = row[0];
}
template <int N> __global__ void by_a_template(float *out, const float *x) {
  float row[32];
  for (int i = 0; i < N; ++i) row[i] = x[i];
  out[0] = row[0];
}
__global__ void of_the_caller(float *out, const float *x, int i) { out[i] = x[i]; }
__global__ void a_table(float *out, int i) {
  static const float table[16] = {1};
  out[i] = table[i];
}
__constant__ float weights[64];
__global__ void outside(float *out, int i) { out[i] = weights[i]; }
void on_the_host(float *out, int i) {
  float row[256];
  row[i] = 0;
  out[0] = row[0];
}
__global__ void never_read(float *out) {
  float row[64];
  out[0] = 1;
}
__global__ void of_pairs(float *out, const float *x) {
  float row[16];
  for (int i = 0; i < 8; ++i) {
    int at = i * 2;
    row[at] = x[at];
    row[at + 1] = x[at];
  }
  out[0] = row[0];
}
__global__ void dynamic(float *out, int i) {
  extern __shared__ float all[];
  all[i] = 1;
  out[0] = all[0];
}
__global__ void only_passed(float *out) {
  float row[64];
  fill(row);
  out[0] = row[0];
}
__global__ void triangle(float *out, const float *x, int n) {
  float sums[78];
  int l;
  for (l = 0; l < 78; l++) sums[l] = 0;
  for (int k = 0; k < n; ++k) {
    l = 0;
    for (int i = 0; i < 12; ++i)
      for (int j = 0; j <= i; ++j) {
        sums[l] += x[k * 12 + i] * x[k * 12 + j];
        l++;
      }
  }
  for (l = 0; l < 78; l++) out[l] = sums[l];
}
__global__ void counted_on(float *out, const float *x, int n) {
  float last[20];  // expect: indexed-local-arrays
  int l = 0;
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 4; ++i) {
      last[l] = x[k * 4 + i];
      l++;
    }
  out[threadIdx.x] = last[3];
}

// Small structures that kernels load whole.
#include <cuda_fp16.h>
struct Edge { int from; int to; };
struct Ray { float o[3]; float t; };
struct Colour { unsigned char r, g, b, a; };
struct __align__(16) Body { float x, y, z, m; };
struct Point { float x, y, z, w; };
struct Complex16 { __half re, im; };
struct Wide { double re, im; };
__global__ void degrees(int *out, const Edge *edges, int n) {  // expect: unaligned-words
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Edge e = edges[i];
  atomicAdd(&out[e.from], 1);
  atomicAdd(&out[e.to], 1);
}
__global__ void one_member(int *out, const Edge *edges, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = edges[i].to;
}
__global__ void four_bytes(Colour *out, const Colour *in, int i) { out[i] = in[i]; }
__global__ void aligned_bodies(Body *out, const Body *in, int i) {
  Body b = in[i];
  out[i] = b;
}
__global__ void points(float *out, const Point *points, int i) {  // expect: unaligned-words
  const Point p = points[i];
  out[i] = p.x * p.x + p.y * p.y + p.z * p.z + p.w;
}
__global__ void by_reference(float *out, const Point *points, int i) {
  const Point &p = points[i];
  out[i] = p.x;
}
struct Interval { float low, high; };
struct Sphere { float x, y, z, radius; };
typedef struct { unsigned key, value; } Slot;
__global__ void widths(float *out, const Interval *__restrict__ in, int n) {  // expect: unaligned-words
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    Interval v = in[i];
    out[i] = v.high - v.low;
  }
}
__global__ void hits(int *out, Sphere *spheres, int n) {  // expect: unaligned-words
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Sphere s = spheres[i];
    out[i] = s.x * s.x + s.y * s.y + s.z * s.z < s.radius * s.radius;
  }
}
__global__ void probe(unsigned *out, const Slot *table, unsigned key, int size) {  // expect: unaligned-words
  unsigned at = key % size;
  for (;;) {
    Slot s = table[at];
    if (s.key == key) out[0] = s.value;
    if (s.key == key || s.key == 0xffffffffu) return;
    at = at + 1 == size ? 0 : at + 1;
  }
}
__global__ void cleared(Slot *table, int i) {  // expect: unaligned-words
  table[i] = Slot{0, 0};
}

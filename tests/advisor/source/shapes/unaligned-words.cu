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

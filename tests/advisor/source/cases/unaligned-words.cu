// Structures of 8 or 16 bytes that a kernel loads whole.
struct Pair { float x, y; };
struct __align__(8) AlignedPair { float x, y; };
struct Quad { int a, b, c, d; };
struct Triple { float x, y, z; };
typedef struct { float re; float im; } Complex;
struct alignas(16) AlignedQuad { int a, b, c, d; };
struct Mixed { int n; char flag; short s; };
struct Node { Node *next; };
__global__ void pairs(float *out, const Pair *in, int i) {  // expect: unaligned-words
  Pair p = in[i];
  out[i] = p.x + p.y;
}
__global__ void aligned(float *out, const AlignedPair *in, int i) {
  AlignedPair p = in[i];
  out[i] = p.x;
}
__global__ void fields(float *out, const Pair *in, int i) { out[i] = in[i].x; }
__global__ void quads(Quad *out, Quad *in, int i) {  // expect: unaligned-words  // expect: unaligned-words
  out[i] = in[i];
}
__global__ void triples(float *out, const Triple *in, int i) {
  Triple t = in[i];
  out[i] = t.x;
}
__global__ void complex(float *out, const Complex *in, int i) {  // expect: unaligned-words
  Complex c = in[i];
  out[i] = c.re;
}
__global__ void aligned_quads(AlignedQuad *out, AlignedQuad *in, int i) { out[i] = in[i]; }
__global__ void vectors(float2 *out, const float2 *in, int i) { out[i] = in[i]; }
__global__ void mixed(int *out, const Mixed *in, int i) {
  Mixed m = in[i];
  out[i] = m.n;
}
__global__ void by_value(float *out, Pair p) { out[0] = p.x; }
template <typename T> __global__ void of_template(T *out, const T *in, int i) { out[i] = in[i]; }
__device__ void helper(Pair *out, const Pair *in) { out[0] = in[0]; }
__global__ void lists(int *out, const Node *in) {
  Node n = in[0];
  out[0] = n.next != nullptr;
}
struct Colour { unsigned char r, g, b, a, x, y, z, w; };
__global__ void colours(Colour *out, const Colour *in, int i) {  // expect: unaligned-words  // expect: unaligned-words
  out[i] = in[i];
}
__global__ void into_a_name(float *out, const Complex *__restrict__ in, int n) {  // expect: unaligned-words
  for (int i = 0; i < n; ++i) {
    const Complex z = in[i];
    out[i] = z.re * z.im;
  }
}

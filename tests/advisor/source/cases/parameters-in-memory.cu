// Structures of parameters that a kernel reads through a pointer.
#include "model.h"
struct Settings { float scale, bias; int n; int last[3]; };
struct Item { float x, y; };
__global__ void bounds(float *x, const Settings *settings) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < settings->n) x[i] *= settings->scale;  // expect: parameters-in-memory
}
__global__ void without_const(float *x, Settings *s) {
  for (int i = threadIdx.x; i < s->n; i += blockDim.x) x[i] += s->bias;  // expect: parameters-in-memory
}
__global__ void of_a_header(float *x, Model *model) {
  int i = threadIdx.x;
  if (i < model->count) x[i] = model->factor;  // expect: parameters-in-memory
}
__global__ void arrays_in_a_structure(float *x, const Model *model) {
  int i = threadIdx.x;
  x[i] = model->weights[i] * model->factor;  // expect: parameters-in-memory
}
__global__ void two_structures(float *x, const Settings *s, const Model *m) {
  x[threadIdx.x] = s->scale * m->factor + s->bias + m->count;  // expect: parameters-in-memory
}
__global__ void arrays_of_fields(int *x, const Settings *s) {
  x[threadIdx.x] = s->last[0] + s->last[1];  // expect: parameters-in-memory
}
__global__ void by_value(float *x, Settings s) {
  if (threadIdx.x < s.n) x[threadIdx.x] *= s.scale + s.bias;
}
__global__ void read_once(float *x, const Settings *s) {
  x[threadIdx.x] *= s->scale;
}
__global__ void array_of_structures(float *out, const Item *items) {
  out[threadIdx.x] = items[threadIdx.x].x + items[threadIdx.x].y;
}
__global__ void element_of_its_own(float *out, const Item *items) {
  const Item *item = items + threadIdx.x;
  out[threadIdx.x] = item->x + item->y;
}
__global__ void array_that_is_moved(float *out, const Item *item) {
  item += threadIdx.x;
  out[threadIdx.x] = item->x + item->y;
}
__global__ void stored_to(float *x, Settings *s) {
  x[threadIdx.x] *= s->scale + s->bias;
  s->n = 0;
}
__global__ void counted(float *x, Settings *s) {
  x[threadIdx.x] *= s->scale + s->bias;
  atomicAdd(&s->n, 1);
}
__global__ void counted_up(float *x, Settings *s) {
  x[threadIdx.x] *= s->scale + s->bias;
  s->n++;
}
__global__ void handed_on(float *x, const Settings *s) {
  x[threadIdx.x] = scaled(s) * s->scale + s->bias;
}
__global__ void with_methods(float *x, const Model *model) {
  x[threadIdx.x] = model->value(threadIdx.x) * model->factor;
}
__global__ void restricted(float *x, const Settings *__restrict__ s) {
  x[threadIdx.x] = s->scale + s->bias;
}
__device__ float in_a_device_function(const Settings *s, float x) {
  return s->scale * x + s->bias;
}
void on_the_host(float *x, const Settings *s) {
  x[0] = s->scale + s->bias;
}

// Launches with more threads than any GPU takes.
#define SIDE 64
constexpr int WIDTH = 33;
__global__ void kernel(float *a) { a[0] = 1; }
void square(float *a) {
  kernel<<<1, dim3(SIDE, SIDE)>>>(a);  // expect: impossible-launch
}
void line(float *a) {
  kernel<<<1, 2048>>>(a);  // expect: impossible-launch
}
void whole(float *a) { kernel<<<1, 1024>>>(a); }
void near(float *a) {
  kernel<<<1, dim3(WIDTH, 32)>>>(a);  // expect: impossible-launch
}
void fits(float *a) { kernel<<<1, dim3(32, 32)>>>(a); }
void cube(float *a) { kernel<<<1, dim3(8, 8, 8)>>>(a); }
void large_grid(float *a) { kernel<<<65536, 256>>>(a); }
void unknown(float *a, dim3 block) { kernel<<<1, block>>>(a); }
void computed(float *a, int n) { kernel<<<1, n * 2048>>>(a); }
void braces(float *a) {
  dim3 block{128, 16};
  kernel<<<1, block>>>(a);  // expect: impossible-launch
}
void later(float *a) {
  int threads = 4096;
  threads = 128;
  kernel<<<1, threads>>>(a);
}
void shared(float *a) { kernel<<<1, 128, 4096>>>(a); }
void minimum(float *a, int n) { kernel<<<1, min(n, 2048)>>>(a); }

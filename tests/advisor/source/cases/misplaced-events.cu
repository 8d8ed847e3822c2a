// Events in another stream than the work between them.
__global__ void kernel(float *a) { a[0] = 1; }
void other_stream(float *a, cudaStream_t s, cudaStream_t t, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, t);
  kernel<<<1, 32, 0, s>>>(a);
  cudaEventRecord(e, t);  // expect: misplaced-events
  cudaEventElapsedTime(ms, b, e);
}
void same_stream(float *a, cudaStream_t s, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, s);
  kernel<<<1, 32, 0, s>>>(a);
  cudaEventRecord(e, s);
  cudaEventElapsedTime(ms, b, e);
}
void default_of_both(float *a, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b);
  kernel<<<1, 32>>>(a);
  cudaEventRecord(e);
  cudaEventElapsedTime(ms, b, e);
}
void legacy_default_waits(float *a, cudaStream_t s, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, 0);
  kernel<<<1, 32, 0, s>>>(a);
  cudaEventRecord(e, 0);
  cudaEventElapsedTime(ms, b, e);
}
void several_streams(float *a, cudaStream_t s, cudaStream_t t, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, s);
  kernel<<<1, 32, 0, s>>>(a);
  kernel<<<1, 32, 0, t>>>(a);
  cudaEventRecord(e, s);
  cudaEventElapsedTime(ms, b, e);
}
void waits(float *a, cudaStream_t s, cudaStream_t t, cudaEvent_t b, cudaEvent_t e, cudaEvent_t d, float *ms) {
  cudaEventRecord(b, t);
  kernel<<<1, 32, 0, s>>>(a);
  cudaStreamWaitEvent(t, d, 0);
  cudaEventRecord(e, t);
  cudaEventElapsedTime(ms, b, e);
}
void array_of_streams(float *a, cudaStream_t *s, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, s[0]);
  kernel<<<1, 32, 0, s[1]>>>(a);
  cudaEventRecord(e, s[0]);
  cudaEventElapsedTime(ms, b, e);
}
void copies(float *a, float *h, cudaStream_t s, cudaStream_t t, cudaEvent_t b, cudaEvent_t e, float *ms) {
  CHECK(cudaEventRecord(b, t));
  CHECK(cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, s));
  CHECK(cudaEventRecord(e, t));  // expect: misplaced-events
  CHECK(cudaEventElapsedTime(ms, b, e));
}
void never_timed(float *a, cudaStream_t s, cudaStream_t t, cudaEvent_t b, cudaEvent_t e) {
  cudaEventRecord(b, t);
  kernel<<<1, 32, 0, s>>>(a);
  cudaEventRecord(e, t);
}
void recorded_twice(float *a, cudaStream_t s, cudaStream_t t, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, s);
  cudaEventRecord(b, t);
  kernel<<<1, 32, 0, s>>>(a);
  cudaEventRecord(e, t);
  cudaEventElapsedTime(ms, b, e);
}
void nothing_between(cudaStream_t s, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, s);
  cudaEventRecord(e, s);
  cudaEventElapsedTime(ms, b, e);
}
template <typename T> void of_template(T *a, cudaStream_t work, cudaStream_t timing, cudaEvent_t b, cudaEvent_t e) {
  float ms;
  cudaEventRecord(b, timing);
  kernel<<<1, 32, 0, work>>>(a);
  kernel<<<1, 32, 0, work>>>(a);
  cudaEventRecord(e, timing);  // expect: misplaced-events
  cudaEventElapsedTime(&ms, b, e);
}
void copies(float *a, float *h, cudaStream_t up, cudaStream_t other, cudaEvent_t b, cudaEvent_t e, float *ms) {
  CHECK(cudaEventRecord(b, other));
  CHECK(cudaMemcpyAsync(a, h, 4, cudaMemcpyHostToDevice, up));
  CHECK(cudaEventRecord(e, other));  // expect: misplaced-events
  CHECK(cudaEventElapsedTime(ms, b, e));
}
void cleared(float *a, cudaStream_t work, cudaStream_t other, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaEventRecord(b, other);
  cudaMemsetAsync(a, 0, 4, work);
  cudaEventRecord(e, other);  // expect: misplaced-events
  cudaEventElapsedTime(ms, b, e);
}
//---
__global__ void kernel(float *a) { a[0] = 1; }
void does_not_wait(float *a, cudaEvent_t b, cudaEvent_t e, float *ms) {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaEventRecord(b, 0);
  kernel<<<1, 32, 0, s>>>(a);
  cudaEventRecord(e, 0);  // expect: misplaced-events
  cudaEventElapsedTime(ms, b, e);
}

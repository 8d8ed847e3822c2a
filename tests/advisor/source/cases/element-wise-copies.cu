// Loops of the host over elements of vectors on the device.
#include <thrust/device_vector.h>
float total(const thrust::device_vector<float> &values, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];  // expect: element-wise-copies
  return sum;
}
void fill(thrust::device_vector<float> &values, int n) {
  for (int i = 0; i < n; ++i) values[i] = i;  // expect: element-wise-copies
}
void local(int n) {
  thrust::device_vector<int> keys(n), counts(n);
  for (int i = 0; i < n; ++i) std::cout << keys[i];  // expect: element-wise-copies
  for (int i = 0; i < n; ++i) counts[i] = 0;  // expect: element-wise-copies
}
void both_ways(thrust::device_vector<int> &v, int n) {
  for (int i = 1; i < n; ++i)
    v[i] = v[i - 1] + 1;  // expect: element-wise-copies // expect: element-wise-copies
}
void until(thrust::device_vector<int> v, int n) {
  int i = 0;
  while (i < n && v[i] > 0) ++i;  // expect: element-wise-copies
}
void few() {
  thrust::device_vector<int> v(10);
  for (int i = 0; i < 10; ++i) v[i] = i;  // expect: element-wise-copies
}
float one(const thrust::device_vector<float> &values) { return values[0]; }
void two(thrust::device_vector<float> &values) {
  values[0] = 1;
  values[1] = 2;
}
float on_the_host(const thrust::host_vector<float> &values, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum;
}
float copied(const thrust::device_vector<float> &values, int n) {
  thrust::host_vector<float> here = values;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += here[i];
  return sum;
}
float reduced(const thrust::device_vector<float> &values) {
  return thrust::reduce(values.begin(), values.end());
}
void addresses(thrust::device_vector<float> &values, int n) {
  for (int i = 0; i < n; ++i) launch(thrust::raw_pointer_cast(&values[i]));
}
void array(float *values, int n) {
  for (int i = 0; i < n; ++i) values[i] = i;
}
void of_vectors(std::vector<float> &values, int n) {
  for (int i = 0; i < n; ++i) values[i] = i;
}
void pointers(thrust::device_vector<float> &values) { launch(values.data().get()); }
void resized(thrust::device_vector<float> &values, int n) {
  for (int i = 0; i < n; ++i) values.resize(i);
}
void iterators(thrust::device_vector<int> &v) {
  thrust::device_vector<int>::iterator first = v.begin();
  for (int i = 0; i < 3; ++i) ++first;
}
__device__ float in_a_kernel(const float *values, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum;
}
void filled(thrust::device_vector<float> &values) { thrust::fill(values.begin(), values.end(), 0); }

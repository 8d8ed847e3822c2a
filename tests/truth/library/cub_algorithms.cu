// Algorithms of the CUB library that comes with the toolkit.
#include <cub/cub.cuh>

#include "../bench.cuh"

namespace {
constexpr int N = 1 << 24, BINS = 256, SEGMENT = 512;

struct Odd {
    __host__ __device__ bool operator()(unsigned value) const { return value & 1; }
};

struct Smaller {
    __device__ bool operator()(unsigned a, unsigned b) const { return a < b; }
};

std::vector<unsigned> numbers() {
    std::vector<unsigned> host(N);
    for (unsigned i = 0; i < N; ++i) host[i] = mixed(i);
    return host;
}

// Asks an algorithm for its scratch memory, then measures it.
template <class Algorithm>
void measure(Bench &bench, const char *kernel, Algorithm algorithm) {
    size_t bytes = 0;
    CHECK(algorithm(nullptr, bytes));
    Buffer<char> scratch(bytes + 1);
    bench.run("library", kernel, [&] { CHECK(algorithm(scratch.data(), bytes)); });
}
}  // namespace

CASE(cub_reduce) {
    std::vector<unsigned> host = numbers();
    unsigned total = 0;
    for (unsigned value : host) total += value;
    Buffer<unsigned> in(host), sum(1);
    bench.output(sum, 0xFF, [=](size_t) { return double(total); }, 0);
    measure(bench, "DeviceReduce::Sum", [&](void *scratch, size_t &bytes) { return cub::DeviceReduce::Sum(scratch, bytes, in.data(), sum.data(), N); });
}

CASE(cub_scan) {
    std::vector<unsigned> host = numbers(), sums(N);
    for (int i = 1; i < N; ++i) sums[i] = sums[i - 1] + host[i - 1];
    Buffer<unsigned> in(host), out(N);
    bench.output(out, 0xFF, [&](size_t i) { return double(sums[i]); }, 0);
    measure(bench, "DeviceScan::ExclusiveSum", [&](void *scratch, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(scratch, bytes, in.data(), out.data(), N); });
}

CASE(cub_radix_sort) {
    std::vector<unsigned> host = numbers(), sorted = host;
    std::sort(sorted.begin(), sorted.end());
    Buffer<unsigned> in(host), out(N);
    bench.output(out, 0xFF, [&](size_t i) { return double(sorted[i]); }, 0);
    measure(bench, "DeviceRadixSort::SortKeys", [&](void *scratch, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(scratch, bytes, in.data(), out.data(), N); });
}

CASE(cub_select) {
    std::vector<unsigned> host = numbers(), odd;
    std::copy_if(host.begin(), host.end(), std::back_inserter(odd), Odd());
    Buffer<unsigned> in(host), out(odd.size()), count(1);
    bench.output(out, 0xFF, [&](size_t i) { return double(odd[i]); }, 0);
    measure(bench, "DeviceSelect::If", [&](void *scratch, size_t &bytes) { return cub::DeviceSelect::If(scratch, bytes, in.data(), out.data(), count.data(), N, Odd()); });
}

CASE(cub_histogram) {
    std::vector<unsigned char> host(N);
    std::vector<double> expected(BINS, 0);
    for (unsigned i = 0; i < N; ++i) ++expected[host[i] = mixed(i)];
    Buffer<unsigned char> in(host);
    Buffer<int> bins(BINS);
    bench.output(bins, 0xFF, [&](size_t bin) { return expected[bin]; }, 0);
    measure(bench, "DeviceHistogram::HistogramEven", [&](void *scratch, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(scratch, bytes, in.data(), bins.data(), BINS + 1, 0, BINS, N);
    });
}

CASE(cub_segmented_reduce) {
    std::vector<unsigned> host = numbers(), sums(N / SEGMENT, 0);
    for (int i = 0; i < N; ++i) sums[i / SEGMENT] += host[i];
    std::vector<int> starts(N / SEGMENT + 1);
    for (size_t k = 0; k < starts.size(); ++k) starts[k] = k * SEGMENT;
    Buffer<unsigned> in(host), out(N / SEGMENT);
    Buffer<int> offsets(starts);
    bench.output(out, 0xFF, [&](size_t k) { return double(sums[k]); }, 0);
    measure(bench, "DeviceSegmentedReduce::Sum", [&](void *scratch, size_t &bytes) {
        return cub::DeviceSegmentedReduce::Sum(scratch, bytes, in.data(), out.data(), N / SEGMENT, offsets.data(), offsets.data() + 1);
    });
}

CASE(cub_run_length_encode) {
    std::vector<unsigned> host(N), values;
    for (unsigned i = 0; i < N; ++i) {
        host[i] = mixed(i / 8) % 4;
        if (i == 0 || host[i] != host[i - 1]) values.push_back(host[i]);
    }
    Buffer<unsigned> in(host), out(values.size());
    Buffer<int> lengths(values.size()), runs(1);
    bench.output(out, 0xFF, [&](size_t i) { return double(values[i]); }, 0);
    measure(bench, "DeviceRunLengthEncode::Encode", [&](void *scratch, size_t &bytes) {
        return cub::DeviceRunLengthEncode::Encode(scratch, bytes, in.data(), out.data(), lengths.data(), runs.data(), N);
    });
}

CASE(cub_merge_sort) {
    constexpr int FEWER = 1 << 21;
    std::vector<unsigned> host = numbers();
    host.resize(FEWER);
    std::vector<unsigned> sorted = host;
    std::sort(sorted.begin(), sorted.end());
    Buffer<unsigned> in(host), out(FEWER);
    bench.output(out, 0xFF, [&](size_t i) { return double(sorted[i]); }, 0);
    measure(bench, "DeviceMergeSort::SortKeysCopy", [&](void *scratch, size_t &bytes) {
        return cub::DeviceMergeSort::SortKeysCopy(scratch, bytes, in.data(), out.data(), FEWER, Smaller());
    });
}

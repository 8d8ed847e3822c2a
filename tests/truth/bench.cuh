// Runs the variants of a kernel: checks each against a host reference, times it, and marks one
// launch for a profiler. Every .cu file beside this one registers its cases here; one program
// holds them all:
//   truth [--profile] [--seconds S] [CASE...]
#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error_ = (call);                                                     \
        if (error_ != cudaSuccess)                                                       \
            throw std::runtime_error(std::string(#call) + ": " + cudaGetErrorString(error_)); \
    } while (0)

constexpr int WARM_UPS = 3;
constexpr int REPEATS = 25;
constexpr std::size_t FLUSHED_BYTES = std::size_t(256) << 20;  // four times the L2 of an H200
constexpr std::size_t SAMPLED_ELEMENTS = 1 << 13;

// A whole number mixed out of another: input data that host and device can both name.
__host__ __device__ inline std::uint32_t mixed(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

// A number in [0, 1) that belongs to an index.
__host__ __device__ inline float fraction(std::uint32_t index) {
    return static_cast<float>(mixed(index) >> 8) * (1.0f / 16777216.0f);
}

inline int multiprocessors() {
    int count = 0;
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
}

inline int blocks_for(std::size_t elements, int block) {
    return static_cast<int>((elements + block - 1) / block);
}

// Device memory that is given back with its owner.
template <class T>
class Buffer {
public:
    explicit Buffer(std::size_t count) : count_(count) { CHECK(cudaMalloc(&data_, count * sizeof(T))); }

    explicit Buffer(const std::vector<T> &host) : Buffer(host.size()) {
        CHECK(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    }

    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { cudaFree(data_); }

    operator T *() const { return data_; }
    T *data() const { return data_; }
    std::size_t size() const { return count_; }

private:
    T *data_ = nullptr;
    std::size_t count_;
};

template <class F>
std::vector<float> tabulated(std::size_t count, F value) {
    std::vector<float> table(count);
    for (std::size_t i = 0; i < count; ++i) table[i] = static_cast<float>(value(i));
    return table;
}

using Reference = std::function<double(std::size_t)>;

// One case: a planted fault with its repaired twin, or one well-known kernel.
class Bench {
public:
    Bench(std::string name, bool profiling) : name_(std::move(name)), profiling_(profiling) {}

    // The array whose elements are checked. Each byte is set to `fill` before every launch:
    // 0xFF poisons what a kernel must write, 0 starts what a kernel adds to.
    template <class T>
    void output(const Buffer<T> &buffer, int fill, Reference reference, double tolerance) {
        T *data = buffer;
        std::size_t count = buffer.size();
        reset_ = [=] { CHECK(cudaMemset(data, fill, count * sizeof(T))); };
        verify_ = [=] {
            std::vector<T> host(count);
            CHECK(cudaMemcpy(host.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
            std::size_t stride = std::max<std::size_t>(1, count / SAMPLED_ELEMENTS) | 1;
            for (std::size_t i = 0; i < count; i += stride) {
                double expected = reference(i), computed = static_cast<double>(host[i]);
                double error = std::fabs(computed - expected);
                if (!(error <= tolerance * std::max(1.0, std::fabs(expected))))
                    throw std::domain_error("element " + std::to_string(i) + " is " +
                                            std::to_string(computed) + ", not " + std::to_string(expected));
            }
        };
    }

    // Checks, times (or profiles) one variant. `launch` may launch several kernels.
    void run(const std::string &variant, const std::string &kernel, const std::function<void()> &launch) {
        reset_();
        launch();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        verify(variant);
        if (profiling_)
            profile(variant, launch);
        else
            time(variant, kernel, launch);
    }

private:
    // A wrong answer is said, and disqualifies the variant; the others are still worth a recording.
    void verify(const std::string &variant) {
        try {
            verify_();
        } catch (const std::domain_error &error) {
            std::printf("wrong %s/%s: %s\n", name_.c_str(), variant.c_str(), error.what());
        }
    }

    void profile(const std::string &variant, const std::function<void()> &launch) {
        reset_();
        CHECK(cudaDeviceSynchronize());
        std::printf("case %s/%s\n", name_.c_str(), variant.c_str());
        std::fflush(stdout);
        CHECK(cudaProfilerStart());
        launch();
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaProfilerStop());
    }

    // Times from a cold L2, as the profiler measures.
    void time(const std::string &variant, const std::string &kernel, const std::function<void()> &launch) {
        Buffer<char> flushed(FLUSHED_BYTES);
        cudaEvent_t begin, end;
        CHECK(cudaEventCreate(&begin));
        CHECK(cudaEventCreate(&end));
        std::vector<float> microseconds;
        for (int repeat = 0; repeat < WARM_UPS + REPEATS; ++repeat) {
            reset_();
            CHECK(cudaMemsetAsync(flushed, repeat, FLUSHED_BYTES));
            CHECK(cudaEventRecord(begin));
            launch();
            CHECK(cudaEventRecord(end));
            CHECK(cudaEventSynchronize(end));
            float milliseconds = 0;
            CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
            if (repeat >= WARM_UPS) microseconds.push_back(milliseconds * 1000.0f);
        }
        verify(variant);
        CHECK(cudaEventDestroy(begin));
        CHECK(cudaEventDestroy(end));
        std::sort(microseconds.begin(), microseconds.end());
        float median = microseconds[REPEATS / 2];
        float spread = (microseconds[REPEATS * 9 / 10] - microseconds[REPEATS / 10]) / median;
        std::printf("{\"pair\": \"%s\", \"variant\": \"%s\", \"kernel\": \"%s\", \"median_us\": %.3f, \"spread\": %.4f}\n",
                    name_.c_str(), variant.c_str(), kernel.c_str(), median, spread);
        std::fflush(stdout);
    }

    std::string name_;
    bool profiling_;
    std::function<void()> reset_ = [] {};
    std::function<void()> verify_ = [] {};
};

struct Case {
    const char *name;
    void (*body)(Bench &);
};

inline std::vector<Case> &cases() {
    static std::vector<Case> registered;
    return registered;
}

struct Registration {
    Registration(const char *name, void (*body)(Bench &)) { cases().push_back({name, body}); }
};

#define CASE(name)                                              \
    static void name##_body(Bench &bench);                      \
    static const Registration name##_registered(#name, name##_body); \
    static void name##_body(Bench &bench)

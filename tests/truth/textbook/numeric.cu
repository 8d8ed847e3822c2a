// Well-known kernels, written as textbooks write them: stencils, particles, fractals, prices,
// sparse and dense algebra, rows of a neural network, and a ring of persistent blocks.
#include "../bench.cuh"

namespace {
constexpr int LANES = 32;

// ---- stencils
constexpr int PLANE = 4096, EDGE = 384;

__host__ __device__ inline float field(size_t i) { return fraction(static_cast<std::uint32_t>(i)); }

__global__ void stencil_5_points(const float *in, float *out) {
    __shared__ float tile[18][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    auto at = [&](int column, int row) {
        column = min(max(column, 0), PLANE - 1);
        row = min(max(row, 0), PLANE - 1);
        return in[size_t(row) * PLANE + column];
    };
    tile[threadIdx.y + 1][threadIdx.x + 1] = at(x, y);
    if (threadIdx.x == 0) tile[threadIdx.y + 1][0] = at(x - 1, y);
    if (threadIdx.x == 31) tile[threadIdx.y + 1][33] = at(x + 1, y);
    if (threadIdx.y == 0) tile[0][threadIdx.x + 1] = at(x, y - 1);
    if (threadIdx.y == 15) tile[17][threadIdx.x + 1] = at(x, y + 1);
    __syncthreads();
    int r = threadIdx.y + 1, c = threadIdx.x + 1;
    out[size_t(y) * PLANE + x] = 0.5f * tile[r][c] + 0.125f * (tile[r - 1][c] + tile[r + 1][c] + tile[r][c - 1] + tile[r][c + 1]);
}

__global__ void stencil_7_points(const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int left = max(x - 1, 0), right = min(x + 1, EDGE - 1), up = max(y - 1, 0), down = min(y + 1, EDGE - 1);
    auto at = [&](int column, int row, int layer) { return in[(size_t(layer) * EDGE + row) * EDGE + column]; };
    float below = at(x, y, 0), here = below;
    for (int z = 0; z < EDGE; ++z) {
        float above = at(x, y, min(z + 1, EDGE - 1));
        out[(size_t(z) * EDGE + y) * EDGE + x] = 0.4f * here + 0.1f * (below + above + at(left, y, z) + at(right, y, z) + at(x, up, z) + at(x, down, z));
        below = here;
        here = above;
    }
}

// ---- particles, fractals, prices
constexpr int BODY_BLOCK = 128, BODIES = 264 * BODY_BLOCK;

__global__ void n_body(const float4 *bodies, float4 *forces) {
    __shared__ float4 tile[BODY_BLOCK];
    int i = blockIdx.x * BODY_BLOCK + threadIdx.x;
    float4 mine = bodies[i];
    float x = 0, y = 0, z = 0;
    for (int base = 0; base < BODIES; base += BODY_BLOCK) {
        tile[threadIdx.x] = bodies[base + threadIdx.x];
        __syncthreads();
#pragma unroll 16
        for (int k = 0; k < BODY_BLOCK; ++k) {
            float4 body = tile[k];
            float dx = body.x - mine.x, dy = body.y - mine.y, dz = body.z - mine.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = body.w * inverse * inverse * inverse;
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        __syncthreads();
    }
    forces[i] = make_float4(x, y, z, 0.0f);
}

constexpr int PICTURE = 2048, LIMIT = 256;

// Fused operations are spelt out, so that host and device round alike.
__host__ __device__ inline int escape(float x0, float y0) {
    float x = 0, y = 0;
    int step = 0;
    for (; step < LIMIT && fmaf(x, x, y * y) <= 4.0f; ++step) {
        float next = fmaf(x, x, fmaf(-y, y, x0));
        y = fmaf(2.0f * x, y, y0);
        x = next;
    }
    return step;
}

__global__ void mandelbrot(int *out) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    out[row * PICTURE + column] = escape(-2.0f + 3.0f * column / PICTURE, -1.5f + 3.0f * row / PICTURE);
}

constexpr int OPTIONS = 1 << 23;

__device__ float cumulative_normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * __expf(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

__global__ void black_scholes(const float *prices, const float *strikes, const float *years, float *calls, float *puts) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    constexpr float rate = 0.02f, volatility = 0.3f;
    float price = prices[i], strike = strikes[i], year = years[i], root = sqrtf(year);
    float d1 = (__logf(price / strike) + (rate + 0.5f * volatility * volatility) * year) / (volatility * root);
    float d2 = d1 - volatility * root, discount = strike * __expf(-rate * year);
    float call = price * cumulative_normal(d1) - discount * cumulative_normal(d2);
    calls[i] = call;
    puts[i] = call + discount - price;
}

// ---- algebra
constexpr int SIDE = 2048;

__host__ __device__ inline float left(size_t i) { return (mixed(i) & 7) * 0.125f; }
__host__ __device__ inline float right(size_t i) { return (mixed(i + 77777) & 7) * 0.25f - 1.0f; }

__global__ void sgemm_shared_32(const float *a, const float *b, float *c) {
    __shared__ float as[32][32], bs[32][32];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    for (int step = 0; step < SIDE; step += 32) {
        as[threadIdx.y][threadIdx.x] = a[row * SIDE + step + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(step + threadIdx.y) * SIDE + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * SIDE + column] = sum;
}

// 128 x 128 per block of 256 threads, 8 x 8 per thread.
__global__ void __launch_bounds__(256) sgemm_registers_8x8(const float *a, const float *b, float *c) {
    __shared__ __align__(16) float as[8][128];
    __shared__ __align__(16) float bs[8][128];
    int row0 = blockIdx.y * 128, column0 = blockIdx.x * 128, x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sums[8][8] = {};
    int a_row = threadIdx.x / 2, a_column = threadIdx.x % 2 * 4, b_row = threadIdx.x / 32, b_column = threadIdx.x % 32 * 4;
    for (int step = 0; step < SIDE; step += 8) {
        float4 l = *reinterpret_cast<const float4 *>(&a[size_t(row0 + a_row) * SIDE + step + a_column]);
        float4 r = *reinterpret_cast<const float4 *>(&b[size_t(step + b_row) * SIDE + column0 + b_column]);
        as[a_column][a_row] = l.x;
        as[a_column + 1][a_row] = l.y;
        as[a_column + 2][a_row] = l.z;
        as[a_column + 3][a_row] = l.w;
        *reinterpret_cast<float4 *>(&bs[b_row][b_column]) = r;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            float ls[8], rs[8];
#pragma unroll
            for (int i = 0; i < 8; i += 4) {
                *reinterpret_cast<float4 *>(&ls[i]) = *reinterpret_cast<float4 *>(&as[k][i * 16 + y * 4]);
                *reinterpret_cast<float4 *>(&rs[i]) = *reinterpret_cast<float4 *>(&bs[k][i * 16 + x * 4]);
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sums[i][j] += ls[i] * rs[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; j += 4)
            *reinterpret_cast<float4 *>(&c[size_t(row0 + i / 4 * 64 + y * 4 + i % 4) * SIDE + column0 + j * 16 + x * 4]) =
                make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
}

double product(size_t i) {
    double sum = 0;
    for (size_t k = 0; k < SIDE; ++k) sum += double(left(i / SIDE * SIDE + k)) * right(k * SIDE + i % SIDE);
    return sum;
}

// A sparse matrix with rows of 4 to 60 entries.
constexpr int SPARSE_ROWS = 1 << 18;

__host__ inline int row_length(size_t row) { return 4 + mixed(row) % 57; }

__global__ void spmv_row_per_thread(const int *starts, const int *columns, const float *values, const float *x, float *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

__global__ void spmv_row_per_warp(const int *starts, const int *columns, const float *values, const float *x, float *y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    float sum = 0.0f;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += LANES) sum += values[k] * x[columns[k]];
    for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, step);
    if (lane == 0) y[row] = sum;
}

// Merge path: every thread takes as many rows and entries together, whatever the rows' lengths.
constexpr int MERGED = 16;

__global__ void spmv_merge_path(const int *starts, const int *columns, const float *values, const float *x, float *y, int entries) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int begin = min(thread * MERGED, SPARSE_ROWS + entries), end = min(begin + MERGED, SPARSE_ROWS + entries);
    int low = max(0, begin - entries), high = min(begin, SPARSE_ROWS);
    while (low < high) {
        int middle = (low + high) / 2;
        if (starts[middle + 1] <= begin - middle - 1)
            low = middle + 1;
        else
            high = middle;
    }
    int row = low, k = begin - low;
    float sum = 0.0f;
    for (int step = begin; step < end; ++step) {
        if (row < SPARSE_ROWS && k >= starts[row + 1]) {
            atomicAdd(&y[row++], sum);
            sum = 0.0f;
        } else {
            sum += values[k] * x[columns[k]];
            ++k;
        }
    }
    if (sum != 0.0f && row < SPARSE_ROWS) atomicAdd(&y[row], sum);
}

// ---- rows of a network
constexpr int TOKENS = 65536, HIDDEN = 1024;

__device__ float warp_sum(float value) {
    for (int step = LANES / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFU, value, step);
    return value;
}

__global__ void layer_norm_row_per_warp(const float4 *in, float4 *out) {
    constexpr int VECTORS = HIDDEN / 4 / LANES;
    size_t row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    float4 v[VECTORS];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < VECTORS; ++k) {
        v[k] = in[row * (HIDDEN / 4) + k * LANES + lane];
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
        squares += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
    }
    float mean = warp_sum(sum) / HIDDEN, scale = rsqrtf(warp_sum(squares) / HIDDEN - mean * mean + 1e-5f);
#pragma unroll
    for (int k = 0; k < VECTORS; ++k)
        out[row * (HIDDEN / 4) + k * LANES + lane] =
            make_float4((v[k].x - mean) * scale, (v[k].y - mean) * scale, (v[k].z - mean) * scale, (v[k].w - mean) * scale);
}

// One thread per row: every lane reads another row.
__global__ void softmax_row_per_thread(const float *in, float *out) {
    size_t row = blockIdx.x * blockDim.x + threadIdx.x;
    float best = -1e30f, sum = 0.0f;
    for (int k = 0; k < HIDDEN; ++k) {
        float value = in[row * HIDDEN + k], higher = fmaxf(best, value);
        sum = sum * __expf(best - higher) + __expf(value - higher);
        best = higher;
    }
    for (int k = 0; k < HIDDEN; ++k) out[row * HIDDEN + k] = __expf(in[row * HIDDEN + k] - best) / sum;
}

// ---- a ring of persistent blocks, as a communication library runs them
constexpr int RING = 16, RING_BLOCK = 512, PIECES = 64, PIECE = 4 * RING_BLOCK;

// Each block adds its own piece to what the block before hands on, piece by piece.
__global__ void ring_reduce(const float4 *in, float4 *between, unsigned *ready, float4 *out) {
    int rank = blockIdx.x;
    constexpr size_t words = size_t(PIECES) * PIECE / 4;
    for (int piece = 0; piece < PIECES; ++piece) {
        size_t i = size_t(piece) * RING_BLOCK + threadIdx.x;
        if (rank > 0) {
            if (threadIdx.x == 0)
                while (*reinterpret_cast<volatile unsigned *>(&ready[rank - 1]) <= unsigned(piece)) {}
            __syncthreads();
        }
        float4 v = in[rank * words + i];
        if (rank > 0) {
            float4 before = __ldcg(&between[(rank - 1) * words + i]);
            v = make_float4(v.x + before.x, v.y + before.y, v.z + before.z, v.w + before.w);
        }
        (rank == RING - 1 ? out : between + rank * words)[i] = v;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(&ready[rank], 1U);
    }
}

void measure_sparse(Bench &bench) {
    std::vector<int> starts(SPARSE_ROWS + 1, 0), columns;
    std::vector<float> values;
    for (size_t row = 0; row < SPARSE_ROWS; ++row) {
        for (int k = 0; k < row_length(row); ++k) {
            columns.push_back(mixed(row * 64 + k) % SPARSE_ROWS);
            values.push_back(fraction(row * 64 + k));
        }
        starts[row + 1] = columns.size();
    }
    Buffer<int> device_starts(starts), device_columns(columns);
    Buffer<float> device_values(values), x(tabulated(SPARSE_ROWS, [](size_t i) { return fraction(i); })), y(SPARSE_ROWS);
    auto expected = [&](size_t row) {
        double sum = 0;
        for (int k = starts[row]; k < starts[row + 1]; ++k) sum += double(values[k]) * fraction(columns[k]);
        return sum;
    };
    bench.output(y, 0, expected, 1e-4);
    int entries = columns.size();
    bench.run("row_per_thread", "spmv_row_per_thread", [&] { spmv_row_per_thread<<<SPARSE_ROWS / 256, 256>>>(device_starts, device_columns, device_values, x, y); });
    bench.run("row_per_warp", "spmv_row_per_warp", [&] { spmv_row_per_warp<<<SPARSE_ROWS / 8, 256>>>(device_starts, device_columns, device_values, x, y); });
    bench.run("merge_path", "spmv_merge_path", [&] {
        spmv_merge_path<<<blocks_for((SPARSE_ROWS + entries + MERGED - 1) / MERGED, 256), 256>>>(device_starts, device_columns, device_values, x, y, entries);
    });
}
}  // namespace

CASE(stencil_5_points) {
    Buffer<float> in(tabulated(size_t(PLANE) * PLANE, field)), out(size_t(PLANE) * PLANE);
    bench.output(out, 0xFF, [](size_t i) {
        int x = i % PLANE, y = i / PLANE;
        auto at = [](int column, int row) {
            return double(field(size_t(std::clamp(row, 0, PLANE - 1)) * PLANE + std::clamp(column, 0, PLANE - 1)));
        };
        return 0.5 * at(x, y) + 0.125 * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1));
    }, 1e-5);
    bench.run("textbook", "stencil_5_points", [&] { stencil_5_points<<<dim3(PLANE / 32, PLANE / 16), dim3(32, 16)>>>(in, out); });
}

CASE(stencil_7_points) {
    constexpr size_t cells = size_t(EDGE) * EDGE * EDGE;
    Buffer<float> in(tabulated(cells, field)), out(cells);
    bench.output(out, 0xFF, [](size_t i) {
        int x = i % EDGE, y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        auto at = [](int column, int row, int layer) {
            auto inside = [](int k) { return size_t(std::clamp(k, 0, EDGE - 1)); };
            return double(field((inside(layer) * EDGE + inside(row)) * EDGE + inside(column)));
        };
        return 0.4 * at(x, y, z) + 0.1 * (at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1));
    }, 1e-5);
    bench.run("textbook", "stencil_7_points", [&] { stencil_7_points<<<dim3(EDGE / 32, EDGE / 8), dim3(32, 8)>>>(in, out); });
}

CASE(n_body) {
    auto body = [](size_t i) { return make_float4(fraction(4 * i), fraction(4 * i + 1), fraction(4 * i + 2), fraction(4 * i + 3)); };
    std::vector<float4> host(BODIES);
    for (size_t i = 0; i < BODIES; ++i) host[i] = body(i);
    Buffer<float4> bodies(host);
    Buffer<float> numbers(BODIES * 4);  // x, y, z and nought of each force
    bench.output(numbers, 0xFF, [=](size_t at) {
        if (at % 4 == 3) return 0.0;
        double force = 0;
        float4 mine = body(at / 4);
        for (size_t k = 0; k < BODIES; ++k) {
            const float4 &other = host[k];
            double d[] = {double(other.x) - mine.x, double(other.y) - mine.y, double(other.z) - mine.z};
            double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01;
            force += d[at % 4] * other.w / (square * std::sqrt(square));
        }
        return force;
    }, 1e-3);
    bench.run("textbook", "n_body", [&] { n_body<<<BODIES / BODY_BLOCK, BODY_BLOCK>>>(bodies, reinterpret_cast<float4 *>(numbers.data())); });
}

CASE(mandelbrot) {
    Buffer<int> out(size_t(PICTURE) * PICTURE);
    bench.output(out, 0xFF, [](size_t i) { return double(escape(-2.0f + 3.0f * (i % PICTURE) / PICTURE, -1.5f + 3.0f * (i / PICTURE) / PICTURE)); }, 0);
    bench.run("textbook", "mandelbrot", [&] { mandelbrot<<<dim3(PICTURE / 16, PICTURE / 16), dim3(16, 16)>>>(out); });
}

CASE(black_scholes) {
    auto price = [](size_t i) { return 5.0f + 25.0f * fraction(i); };
    auto strike = [](size_t i) { return 1.0f + 99.0f * fraction(i + OPTIONS); };
    auto year = [](size_t i) { return 0.25f + 9.75f * fraction(i + 2 * OPTIONS); };
    Buffer<float> prices(tabulated(OPTIONS, price)), strikes(tabulated(OPTIONS, strike)), years(tabulated(OPTIONS, year));
    Buffer<float> calls(OPTIONS), puts(OPTIONS);
    bench.output(calls, 0xFF, [=](size_t i) {
        double root = std::sqrt(double(year(i)));
        double d1 = (std::log(double(price(i)) / strike(i)) + 0.065 * year(i)) / (0.3 * root), d2 = d1 - 0.3 * root;
        auto normal = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
        return price(i) * normal(d1) - strike(i) * std::exp(-0.02 * year(i)) * normal(d2);
    }, 1e-3);
    bench.run("textbook", "black_scholes", [&] { black_scholes<<<OPTIONS / 128, 128>>>(prices, strikes, years, calls, puts); });
}

CASE(sgemm_steps) {
    Buffer<float> a(tabulated(size_t(SIDE) * SIDE, left)), b(tabulated(size_t(SIDE) * SIDE, right)), c(size_t(SIDE) * SIDE);
    bench.output(c, 0xFF, product, 1e-4);
    bench.run("shared_32", "sgemm_shared_32", [&] { sgemm_shared_32<<<dim3(SIDE / 32, SIDE / 32), dim3(32, 32)>>>(a, b, c); });
    bench.run("registers_8x8", "sgemm_registers_8x8", [&] { sgemm_registers_8x8<<<dim3(SIDE / 128, SIDE / 128), 256>>>(a, b, c); });
}

CASE(sparse_products) { measure_sparse(bench); }

CASE(layer_norm) {
    Buffer<float> in(tabulated(size_t(TOKENS) * HIDDEN, field)), out(size_t(TOKENS) * HIDDEN);
    bench.output(out, 0xFF, [](size_t i) {
        double sum = 0, squares = 0;
        for (size_t k = i / HIDDEN * HIDDEN; k < (i / HIDDEN + 1) * HIDDEN; ++k) {
            sum += field(k);
            squares += double(field(k)) * field(k);
        }
        double mean = sum / HIDDEN;
        return (field(i) - mean) / std::sqrt(squares / HIDDEN - mean * mean + 1e-5);
    }, 1e-3);
    bench.run("textbook", "layer_norm_row_per_warp", [&] {
        layer_norm_row_per_warp<<<TOKENS / 8, 256>>>(reinterpret_cast<float4 *>(in.data()), reinterpret_cast<float4 *>(out.data()));
    });
}

CASE(softmax_row_per_thread) {
    Buffer<float> in(tabulated(size_t(TOKENS) * HIDDEN, field)), out(size_t(TOKENS) * HIDDEN);
    bench.output(out, 0xFF, [](size_t i) {
        double sum = 0;
        for (size_t k = i / HIDDEN * HIDDEN; k < (i / HIDDEN + 1) * HIDDEN; ++k) sum += std::exp(double(field(k)));
        return std::exp(double(field(i))) / sum;
    }, 1e-5);
    bench.run("textbook", "softmax_row_per_thread", [&] { softmax_row_per_thread<<<TOKENS / 128, 128>>>(in, out); });
}

CASE(ring_reduce) {
    constexpr size_t words = size_t(PIECES) * PIECE;
    Buffer<float> in(tabulated(RING * words, field)), out(words);
    Buffer<float4> between(RING * words / 4);
    Buffer<unsigned> ready(RING);
    bench.output(out, 0xFF, [](size_t i) {
        double sum = 0;
        for (size_t rank = 0; rank < RING; ++rank) sum += field(rank * words + i);
        return sum;
    }, 1e-4);
    bench.run("persistent", "ring_reduce", [&] {
        CHECK(cudaMemsetAsync(ready, 0, RING * sizeof(unsigned)));
        ring_reduce<<<RING, RING_BLOCK>>>(reinterpret_cast<float4 *>(in.data()), between, ready, reinterpret_cast<float4 *>(out.data()));
    });
}

// The chapter's kernel (GPU Gems 3, chapter 31, listings 31-1 to 31-3) as plain CUDA C++, to measure
// gravitile against on the same GPU. The words are those of shaders/force/all_pairs.wgsl:
//   p  sinks per block, and sources per thread and tile,
//   q  threads per sink: a tile holds p * q sources, each of the q rows of threads takes p of them,
//   u  interactions written out per turn of the inner loop.
// There is no r and no s: the chapter has neither.
//
// One JSON object per line goes to standard output:
//   nbody --n N --sweep               every shape, then the best again with "best": true
//   nbody --n N --p P --q Q --u U     that shape alone
// Options: --secs S (time to sample for, of each shape that is reported as best or alone; 0.5),
//          --among "P,Q,U P,Q,U ..." (shapes of the sweep; all of them if left out), --device D (0).
// N must be a multiple of p * q; shapes that do not divide it are left out of the sweep.
//
// Build: nvcc -O3 -use_fast_math -arch=native -std=c++17 -o nbody nbody.cu
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        const cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                          \
            std::fprintf(stderr, "nbody: %s: %s\n", #call, cudaGetErrorString(status));       \
            std::exit(2);                                                                     \
        }                                                                                     \
    } while (0)

// Listing 31-1, with rsqrtf for the reciprocal square root as NVIDIA's own sample has it.
__device__ __forceinline__ float3 body_body_interaction(float4 sink, float4 source, float3 sum,
                                                        float softening_squared) {
    const float x = source.x - sink.x;
    const float y = source.y - sink.y;
    const float z = source.z - sink.z;
    const float softened = x * x + y * y + z * z + softening_squared;
    const float inverse = rsqrtf(softened);
    const float pull = source.w * (inverse * inverse * inverse);
    sum.x += x * pull;
    sum.y += y * pull;
    sum.z += z * pull;
    return sum;
}

// Listings 31-2 and 31-3; with q > 1 the section "Optimizing for small N".
template <int P, int Q, int U>
__global__ void __launch_bounds__(P * Q)
    forces(const float4* __restrict__ positions, float4* __restrict__ accelerations, int n,
           float softening_squared) {
    __shared__ float4 tile[P * Q];
    const int lane = threadIdx.y * P + threadIdx.x;
    const int first = threadIdx.y * P;
    const int i = blockIdx.x * P + threadIdx.x;
    const float4 sink = positions[i];
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int begin = 0; begin < n; begin += P * Q) {
        tile[lane] = positions[begin + lane];
        __syncthreads();
#pragma unroll U
        for (int column = 0; column < P; ++column) {
            sum = body_body_interaction(sink, tile[first + column], sum, softening_squared);
        }
        __syncthreads();
    }
    if (Q > 1) {
        tile[lane] = make_float4(sum.x, sum.y, sum.z, 0.0f);
        __syncthreads();
        if (threadIdx.y == 0) {
            for (int row = 1; row < Q; ++row) {
                const float4 share = tile[row * P + threadIdx.x];
                sum.x += share.x;
                sum.y += share.y;
                sum.z += share.z;
            }
        }
    }
    if (threadIdx.y == 0) {
        accelerations[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
    }
}

// Leapfrog: the kick that ends a step, the kick that begins the next, the drift. As in leapfrog.wgsl.
__global__ void leapfrog(float4* __restrict__ positions, float4* __restrict__ velocities,
                         const float4* __restrict__ accelerations, int n, float half_dt, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float4 a = accelerations[i];
    float4 v = velocities[i];
    float4 x = positions[i];
    v.x += a.x * half_dt;
    v.y += a.y * half_dt;
    v.z += a.z * half_dt;
    v.x += a.x * half_dt;
    v.y += a.y * half_dt;
    v.z += a.z * half_dt;
    x.x += v.x * dt;
    x.y += v.y * dt;
    x.z += v.z * dt;
    velocities[i] = v;
    positions[i] = x;
}

struct Bodies {
    int n;
    float4* positions;
    float4* velocities;
    float4* accelerations;
};

typedef void (*Launch)(const Bodies&, float softening_squared);

template <int P, int Q, int U>
void launch(const Bodies& bodies, float softening_squared) {
    forces<P, Q, U><<<bodies.n / P, dim3(P, Q)>>>(bodies.positions, bodies.accelerations, bodies.n,
                                                  softening_squared);
}

struct Shape {
    int p, q, u;
    Launch launch;
};

template <int P, int Q>
void add(std::vector<Shape>& shapes) {
    shapes.push_back({P, Q, 1, launch<P, Q, 1>});
    shapes.push_back({P, Q, 4, launch<P, Q, 4>});
    shapes.push_back({P, Q, 8, launch<P, Q, 8>});
    shapes.push_back({P, Q, 16, launch<P, Q, 16>});
    shapes.push_back({P, Q, 32, launch<P, Q, 32>});
}

std::vector<Shape> all_shapes() {
    std::vector<Shape> shapes;
    add<32, 1>(shapes);
    add<32, 4>(shapes);
    add<32, 8>(shapes);
    add<32, 16>(shapes);
    add<32, 32>(shapes);
    add<64, 1>(shapes);
    add<64, 2>(shapes);
    add<64, 4>(shapes);
    add<64, 8>(shapes);
    add<64, 16>(shapes);
    add<128, 1>(shapes);
    add<128, 2>(shapes);
    add<128, 4>(shapes);
    add<128, 8>(shapes);
    add<256, 1>(shapes);
    add<256, 2>(shapes);
    add<256, 4>(shapes);
    add<512, 1>(shapes);
    add<512, 2>(shapes);
    add<1024, 1>(shapes);
    return shapes;
}

const float SOFTENING = 0.05f;
const float DT = 0.001f;
const int LEAPFROG_BLOCK = 256;
const int SINKS_CHECKED = 32;
const double RMS_LIMIT = 1e-5;

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A cube of bodies at rest with total mass 1, the same in every run (splitmix64).
std::vector<float4> cube(int n) {
    std::vector<float4> positions(n);
    uint64_t state = 42;
    auto uniform = [&state]() {
        state += 0x9e3779b97f4a7c15ull;
        uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return static_cast<float>((z ^ (z >> 31)) >> 40) / 16777216.0f;
    };
    for (float4& body : positions) {
        body.x = 2.0f * uniform() - 1.0f;
        body.y = 2.0f * uniform() - 1.0f;
        body.z = 2.0f * uniform() - 1.0f;
        body.w = 1.0f / static_cast<float>(n);
    }
    return positions;
}

struct Double3 {
    double x, y, z;
};

// Accelerations in double precision of sinks spread over all bodies.
std::vector<Double3> reference(const std::vector<float4>& positions) {
    const int n = static_cast<int>(positions.size());
    const int sinks = std::min(n, SINKS_CHECKED);
    const double softening_squared = static_cast<double>(SOFTENING) * SOFTENING;
    std::vector<Double3> sums(sinks);
    for (int k = 0; k < sinks; ++k) {
        const float4 sink = positions[static_cast<size_t>(k) * n / sinks];
        Double3 sum = {0.0, 0.0, 0.0};
        for (const float4& source : positions) {
            const double x = static_cast<double>(source.x) - sink.x;
            const double y = static_cast<double>(source.y) - sink.y;
            const double z = static_cast<double>(source.z) - sink.z;
            const double softened = x * x + y * y + z * z + softening_squared;
            const double pull = source.w / (softened * std::sqrt(softened));
            sum.x += x * pull;
            sum.y += y * pull;
            sum.z += z * pull;
        }
        sums[k] = sum;
    }
    return sums;
}

class Bench {
public:
    explicit Bench(int n) : start_(cube(n)), reference_(reference(start_)) {
        const size_t bytes = static_cast<size_t>(n) * sizeof(float4);
        bodies_.n = n;
        CHECK(cudaMalloc(reinterpret_cast<void**>(&bodies_.positions), bytes));
        CHECK(cudaMalloc(reinterpret_cast<void**>(&bodies_.velocities), bytes));
        CHECK(cudaMalloc(reinterpret_cast<void**>(&bodies_.accelerations), bytes));
        CHECK(cudaEventCreate(&begin_));
        CHECK(cudaEventCreate(&end_));
    }

    ~Bench() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
        cudaFree(bodies_.positions);
        cudaFree(bodies_.velocities);
        cudaFree(bodies_.accelerations);
    }

    // Root mean square of the relative error against double precision. The accelerations are poisoned first.
    double error(const Shape& shape) {
        const size_t bytes = static_cast<size_t>(bodies_.n) * sizeof(float4);
        CHECK(cudaMemcpy(bodies_.positions, start_.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemset(bodies_.velocities, 0, bytes));
        CHECK(cudaMemset(bodies_.accelerations, 0xff, bytes));
        shape.launch(bodies_, SOFTENING * SOFTENING);
        CHECK(cudaGetLastError());
        std::vector<float4> found(bodies_.n);
        CHECK(cudaMemcpy(found.data(), bodies_.accelerations, bytes, cudaMemcpyDeviceToHost));
        double sum = 0.0;
        const size_t sinks = reference_.size();
        for (size_t k = 0; k < sinks; ++k) {
            const float4 a = found[k * bodies_.n / sinks];
            const Double3 right = reference_[k];
            const double x = a.x - right.x, y = a.y - right.y, z = a.z - right.z;
            const double size = right.x * right.x + right.y * right.y + right.z * right.z;
            sum += (x * x + y * y + z * z) / size;
        }
        return std::sqrt(sum / static_cast<double>(sinks));
    }

    // Seconds per step, by events around that many steps.
    double time(const Shape& shape, int steps) {
        CHECK(cudaEventRecord(begin_));
        queue(shape, steps);
        CHECK(cudaEventRecord(end_));
        CHECK(cudaEventSynchronize(end_));
        CHECK(cudaGetLastError());
        float milliseconds = 0.0f;
        CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
        return milliseconds * 1e-3 / steps;
    }

    // Seconds per step by the clock on the wall, all steps queued before the one wait.
    double wall(const Shape& shape, int steps) {
        CHECK(cudaDeviceSynchronize());
        const double begun = seconds_now();
        queue(shape, steps);
        CHECK(cudaDeviceSynchronize());
        return (seconds_now() - begun) / steps;
    }

private:
    void queue(const Shape& shape, int steps) {
        const int blocks = (bodies_.n + LEAPFROG_BLOCK - 1) / LEAPFROG_BLOCK;
        for (int step = 0; step < steps; ++step) {
            shape.launch(bodies_, SOFTENING * SOFTENING);
            leapfrog<<<blocks, LEAPFROG_BLOCK>>>(bodies_.positions, bodies_.velocities,
                                                 bodies_.accelerations, bodies_.n, 0.5f * DT, DT);
        }
    }

    std::vector<float4> start_;
    std::vector<Double3> reference_;
    Bodies bodies_;
    cudaEvent_t begin_, end_;
};

// The number of steps that fill `secs`, at a known time per step.
int steps_in(double secs, double secs_per_step) {
    return static_cast<int>(std::min(1e6, std::max(1.0, secs / secs_per_step)));
}

// One line. `samples` are seconds per step by events; `wall` 0 leaves out what was not measured.
void print(const Bench&, int n, const Shape& shape, const std::string& device, double error,
           std::vector<double> samples, int steps, double wall, bool best) {
    int driver = 0, runtime = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    std::printf("{\"program\": \"cuda\", \"n\": %d, \"p\": %d, \"q\": %d, \"u\": %d, ", n, shape.p,
                shape.q, shape.u);
    std::printf("\"device\": \"%s\", \"cuda_driver\": %d, \"cuda_runtime\": %d, ", device.c_str(),
                driver, runtime);
    std::printf("\"method\": \"cuda events\", \"steps_per_sample\": %d, \"samples\": [", steps);
    for (size_t k = 0; k < samples.size(); ++k) {
        std::printf("%s%.6e", k == 0 ? "" : ", ", samples[k]);
    }
    std::sort(samples.begin(), samples.end());
    const double median = samples[samples.size() / 2];
    std::printf("], \"median_secs\": %.6e, \"g_interactions_per_sec\": %.6g, ", median,
                static_cast<double>(n) * n / median / 1e9);
    if (wall > 0.0) {
        std::printf("\"steps_per_sec\": %.6g, ", 1.0 / wall);
    }
    std::printf("\"rms_error\": %.2e, \"best\": %s}\n", error, best ? "true" : "false");
    std::fflush(stdout);
}

// Samples one shape for about `secs` of device time, and as long by the clock on the wall.
void report(Bench& bench, int n, const Shape& shape, const std::string& device, double secs,
            bool best) {
    const double error = bench.error(shape);
    if (!(error < RMS_LIMIT)) {
        std::fprintf(stderr, "nbody: p=%d q=%d u=%d is wrong: rms error %g\n", shape.p, shape.q,
                     shape.u, error);
        std::exit(1);
    }
    const double guess = bench.time(shape, 1);
    // The clocks come up, and the guess gets better, before anything is kept.
    const double warm = bench.time(shape, steps_in(0.2 * secs, guess));
    const int samples = warm > 0.2 * secs ? 3 : 10;
    const int steps = steps_in(0.5 * secs / samples, warm);
    std::vector<double> times;
    for (int k = 0; k < samples; ++k) {
        times.push_back(bench.time(shape, steps));
    }
    const double wall = bench.wall(shape, steps_in(0.5 * secs, warm));
    print(bench, n, shape, device, error, times, steps, wall, best);
}

void sweep(Bench& bench, int n, const std::vector<Shape>& shapes, const std::string& device,
           double secs) {
    const Shape* best = nullptr;
    double least = 0.0;
    for (const Shape& shape : shapes) {
        if (n % (shape.p * shape.q) != 0) {
            continue;
        }
        const double error = bench.error(shape);
        if (!(error < RMS_LIMIT)) {
            std::fprintf(stderr, "nbody: p=%d q=%d u=%d is wrong (rms error %g): not timed\n", shape.p,
                         shape.q, shape.u, error);
            continue;
        }
        // About 4 ms of steps a sample; where a step alone takes that long, it is its own warm-up.
        double first = bench.time(shape, 1);
        if (first < 0.02) {
            first = bench.time(shape, steps_in(0.002, first));
        }
        const int steps = steps_in(0.004, first);
        std::vector<double> times;
        for (int k = 0; k < (first < 0.02 ? 3 : 1); ++k) {
            times.push_back(bench.time(shape, steps));
        }
        print(bench, n, shape, device, error, times, steps, 0.0, false);
        const double fastest = *std::min_element(times.begin(), times.end());
        if (best == nullptr || fastest < least) {
            best = &shape;
            least = fastest;
        }
    }
    if (best == nullptr) {
        std::fprintf(stderr, "nbody: no shape fits n = %d, which must be a multiple of p * q\n", n);
        std::exit(2);
    }
    report(bench, n, *best, device, secs, true);
}

int usage(const char* problem) {
    std::fprintf(stderr,
                 "nbody: %s\nusage: nbody --n N (--sweep [--among \"P,Q,U ...\"] | --p P --q Q --u U)"
                 " [--secs S] [--device D]\n",
                 problem);
    return 2;
}

const Shape* find(const std::vector<Shape>& shapes, int p, int q, int u) {
    for (const Shape& shape : shapes) {
        if (shape.p == p && shape.q == q && shape.u == u) {
            return &shape;
        }
    }
    return nullptr;
}

int main(int count, char** arguments) {
    int n = 0, p = 256, q = 1, u = 4, device = 0;
    double secs = 0.5;
    bool all = false;
    std::string among;
    for (int k = 1; k < count; ++k) {
        const std::string name = arguments[k];
        if (name == "--sweep") {
            all = true;
            continue;
        }
        if (k + 1 == count) {
            return usage(("no value after, or no such option: " + name).c_str());
        }
        const char* value = arguments[++k];
        if (name == "--among") {
            among = value;
            continue;
        }
        char* end = nullptr;
        const double number = std::strtod(value, &end);
        if (end == value || *end != '\0' || !(number >= 0.0 && number < 2e9)) {
            return usage((name + " wants a number, not " + value).c_str());
        }
        if (name == "--n") {
            n = static_cast<int>(number);
        } else if (name == "--p") {
            p = static_cast<int>(number);
        } else if (name == "--q") {
            q = static_cast<int>(number);
        } else if (name == "--u") {
            u = static_cast<int>(number);
        } else if (name == "--device") {
            device = static_cast<int>(number);
        } else if (name == "--secs") {
            secs = number;
        } else {
            return usage(("no such option: " + name).c_str());
        }
    }
    if (n < 1 || n > (1 << 26) || !(secs > 0.0)) {
        return usage("--n must be 1 to 67108864, --secs greater than 0");
    }
    std::vector<Shape> shapes = all_shapes();
    const Shape* one = find(shapes, p, q, u);
    if (!all && (one == nullptr || n % (p * q) != 0)) {
        return usage("no such shape is built, or n is no multiple of p * q");
    }
    CHECK(cudaSetDevice(device));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));

    Bench bench(n);
    if (!all) {
        report(bench, n, *one, properties.name, secs, false);
        return 0;
    }
    std::vector<Shape> chosen;
    for (const char* rest = among.c_str(); *rest != '\0';) {
        int used = 0;
        if (std::sscanf(rest, " %d,%d,%d %n", &p, &q, &u, &used) != 3 || used == 0) {
            return usage("--among wants P,Q,U triples with spaces between");
        }
        const Shape* shape = find(shapes, p, q, u);
        if (shape == nullptr) {
            return usage("--among names a shape that is not built");
        }
        chosen.push_back(*shape);
        rest += used;
    }
    sweep(bench, n, among.empty() ? shapes : chosen, properties.name, secs);
    return 0;
}

// The program around every case: picks cases by name, keeps to a time limit, and goes on after a
// case that fails.
#include <cstring>
#include <set>

#include "bench.cuh"

int main(int argc, char **argv) {
    bool profiling = false;
    double seconds = 1e9;
    std::set<std::string> chosen;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--profile"))
            profiling = true;
        else if (!std::strcmp(argv[i], "--seconds") && i + 1 < argc)
            seconds = std::atof(argv[++i]);
        else
            chosen.insert(argv[i]);
    }
    std::sort(cases().begin(), cases().end(),
              [](const Case &a, const Case &b) { return std::strcmp(a.name, b.name) < 0; });
    auto started = std::chrono::steady_clock::now();
    int failed = 0;
    for (const Case &registered : cases()) {
        if (!chosen.empty() && !chosen.count(registered.name)) continue;
        std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started;
        if (passed.count() > seconds) {
            std::printf("time is up before %s\n", registered.name);
            break;
        }
        try {
            Bench bench(registered.name, profiling);
            registered.body(bench);
        } catch (const std::exception &error) {
            ++failed;
            std::printf("failed %s: %s\n", registered.name, error.what());
        }
        std::fflush(stdout);
    }
    return failed ? 1 : 0;
}

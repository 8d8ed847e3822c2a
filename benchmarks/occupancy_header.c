/* Times cuda_occupancy.h over the sweep that benchmarks/occupancy.py gives the vectorised model:
 * registers 16-255 by blocks 32-1024 by 0-227 KiB of shared memory on cc 9.0.
 * Prints configurations, sum of blocks, and the best time of the repetitions in nanoseconds. */
#include <cuda_occupancy.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv)
{
    int repetitions = argc > 1 ? atoi(argv[1]) : 5;
    cudaOccDeviceProp device = {0};
    cudaOccFuncAttributes kernel = {0};
    cudaOccDeviceState state = {0};
    double best = 1e300;
    long configurations = 0, sum = 0;

    device.computeMajor = 9;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = 2048;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = 233472;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = 232448;
    device.reservedSharedMemPerBlock = 1024;
    kernel.maxThreadsPerBlock = 1024;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = 232448;
    kernel.numBlockBarriers = 1;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;

    while (repetitions-- > 0) {
        double start = nanoseconds(), took;
        configurations = sum = 0;
        for (int regs = 16; regs < 256; regs++) {
            kernel.numRegs = regs;
            for (int threads = 32; threads <= 1024; threads += 32)
                for (size_t kib = 0; kib < 228; kib++) {
                    cudaOccResult result;
                    if (cudaOccMaxActiveBlocksPerMultiprocessor(
                            &result, &device, &kernel, &state, threads, kib * 1024))
                        return 1;
                    sum += result.activeBlocksPerMultiprocessor;
                    configurations++;
                }
        }
        took = nanoseconds() - start;
        if (took < best)
            best = took;
    }
    printf("%ld %ld %.0f\n", configurations, sum, best);
    return 0;
}

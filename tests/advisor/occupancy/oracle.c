/* Asks NVIDIA's cuda_occupancy.h: one struct question per record on stdin, one struct reply on
 * stdout. Built by the tests against the header of each installed CUDA runtime wheel. */
#include <cuda_occupancy.h>
#include <stdint.h>
#include <stdio.h>

enum { BLOCKS, BLOCK_SIZE, DYNAMIC_SHARED };

struct question {
    int32_t query, major, minor;
    int32_t max_threads, threads_per_sm, regs_per_block, regs_per_sm;
    int32_t smem_per_block, smem_per_sm, smem_optin, smem_reserved;
    int32_t threads, regs, static_smem, dynamic_smem, optin, max_dynamic;
    int32_t carveout, cache, barriers, global_caching, wanted_blocks;
};

struct reply {
    int32_t status, blocks, by_warps, by_blocks, by_regs, by_smem, by_barriers;
    int32_t regs_per_block, smem_per_block, value;
};

static struct reply answer(const struct question *q)
{
    cudaOccDeviceProp device = {0};
    cudaOccFuncAttributes kernel = {0};
    cudaOccDeviceState state = {0};
    cudaOccResult result = {0};
    struct reply r = {0};
    int grid = 0;
    size_t bytes = 0;

    device.computeMajor = q->major;
    device.computeMinor = q->minor;
    device.maxThreadsPerBlock = q->max_threads;
    device.maxThreadsPerMultiprocessor = q->threads_per_sm;
    device.regsPerBlock = q->regs_per_block;
    device.regsPerMultiprocessor = q->regs_per_sm;
    device.warpSize = 32;
    device.sharedMemPerBlock = q->smem_per_block;
    device.sharedMemPerMultiprocessor = q->smem_per_sm;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = q->smem_optin;
    device.reservedSharedMemPerBlock = q->smem_reserved;
    kernel.maxThreadsPerBlock = INT_MAX;
    kernel.numRegs = q->regs;
    kernel.sharedSizeBytes = q->static_smem;
    kernel.partitionedGCConfig = (cudaOccPartitionedGCConfig)q->global_caching;
    kernel.shmemLimitConfig = q->optin ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
    kernel.maxDynamicSharedSizeBytes = q->max_dynamic;
    kernel.numBlockBarriers = q->barriers;
    state.cacheConfig = (cudaOccCacheConfig)q->cache;
    state.carveoutConfig = q->carveout;

    switch (q->query) {
    case BLOCKS:
        r.status = cudaOccMaxActiveBlocksPerMultiprocessor(
            &result, &device, &kernel, &state, q->threads, q->dynamic_smem);
        break;
    case BLOCK_SIZE:
        r.status = cudaOccMaxPotentialOccupancyBlockSize(
            &grid, &r.value, &device, &kernel, &state, 0, q->dynamic_smem);
        break;
    default:
        r.status = cudaOccAvailableDynamicSMemPerBlock(
            &bytes, &device, &kernel, &state, q->wanted_blocks, q->threads);
        r.value = (int32_t)bytes;
    }
    r.blocks = result.activeBlocksPerMultiprocessor;
    r.by_warps = result.blockLimitWarps;
    r.by_blocks = result.blockLimitBlocks;
    r.by_regs = result.blockLimitRegs;
    r.by_smem = result.blockLimitSharedMem;
    r.by_barriers = result.blockLimitBarriers;
    r.regs_per_block = result.allocatedRegistersPerBlock;
    r.smem_per_block = (int32_t)result.allocatedSharedMemPerBlock;
    return r;
}

int main(void)
{
    struct question q;
    while (fread(&q, sizeof q, 1, stdin) == 1) {
        struct reply r = answer(&q);
        if (fwrite(&r, sizeof r, 1, stdout) != 1)
            return 1;
    }
    return 0;
}

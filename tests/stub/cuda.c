/* A small libcuda.so.1 for tests: the imaginary GPU of nvml.c as the CUDA driver shows it.
 * Moods are words in the environment variable STUB_CUDA. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID_VALUE = 1, NO_DEVICE = 100, NOT_FOUND = 500, UNKNOWN = 999,
       DRIVER_MISMATCH = 803 };

static int mood(const char *word) {
    const char *at = getenv("STUB_CUDA");
    size_t length = strlen(word);
    for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, word, length) && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

int cuInit(unsigned flags) {
    (void)flags;
    if (mood("hang")) sleep(60);
    if (mood("crash")) raise(SIGSEGV);
    if (mood("garbage")) { puts("{not json"); fflush(stdout); _exit(0); }
    if (mood("nodevice")) return NO_DEVICE;
    if (mood("mismatch")) return DRIVER_MISMATCH;
    return mood("odd") ? 201 : OK;
}
/* NVRTC asks the driver of its process for internals; an empty table says there are none. */
int cuGetExportTable(const void **table, const void *id) {
    static const size_t EMPTY[2] = {sizeof EMPTY};
    (void)id;
    *table = EMPTY;
    return OK;
}
int cuDriverGetVersion(int *version) { *version = 13000; return OK; }
int cuDeviceGetCount(int *count) { *count = mood("two") ? 2 : 1; return OK; }
int cuDeviceGet(int *device, int index) { *device = index; return OK; }
int cuDeviceGetName(char *place, int size, int device) {
    (void)device;
    snprintf(place, (size_t)size, "NVIDIA H200");
    return mood("nameless") ? UNKNOWN : OK;
}
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    memset(uuid, 0, 16);
    if (mood("slice")) { uuid[14] = 1; return OK; } /* the first MIG slice of nvml.c */
    /* Devices come in the opposite order of NVML's. */
    uuid[15] = (unsigned char)(mood("two") ? 2 - device : 1);
    return OK;
}
int cuDeviceGetPCIBusId(char *place, int size, int device) {
    snprintf(place, (size_t)size, "0000:%02x:00.0", mood("two") ? 7 - device : 6);
    return OK;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = mood("slice") ? 16ull << 30 : 150109880320ull;
    return OK;
}
static const int VALUES[][2] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535},
    {8, 49152}, {10, 32}, {12, 65536}, {13, 1980000}, {16, 132}, {18, 0}, {32, 1},
    {36, 3201000}, {37, 6016}, {38, 62914560}, {39, 2048}, {40, 3}, {75, 9}, {76, 0},
    {81, 233472}, {82, 65536}, {97, 232448}, {100, 0}, {106, 32}, {108, 39321600}, {111, 1024},
};
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    if (mood("slice") && attribute == 16) { *value = 16; return OK; }
    for (size_t n = 0; n < sizeof VALUES / sizeof *VALUES; n++)
        if (VALUES[n][0] == attribute) { *value = VALUES[n][1]; return OK; }
    return INVALID_VALUE;
}

int cuGetErrorName(int code, const char **name) {
    *name = code == 201 ? "CUDA_ERROR_INVALID_CONTEXT"
          : code == 912 ? "CUDA_ERROR_INVALID_CLUSTER_SIZE" : NULL;
    return *name ? OK : INVALID_VALUE;
}
/* With the mood "two" the GPUs reach each other's memory; atomics need a link of their own. */
int cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
    if (from == to) return 101;
    *value = attribute == 2 ? 1 : mood("linked");
    return OK;
}

/* A context, and kernels of the registers that their text allows (.maxnreg); occupancy by registers
 * and warps alone. With the mood "lumpy" a sixth of the clusters find no group of SMs. */
typedef struct { unsigned grid[3], block[3], shared; void *stream;
                 struct { int id; unsigned pad, value[16]; } *attributes; unsigned count; } Config;
static int registers, nonportable;

int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &registers; return device; }
int cuCtxSetCurrent(void *context) { return context ? OK : INVALID_VALUE; }
int cuModuleLoadData(void **module, const char *text) {
    const char *cap = strstr(text, ".maxnreg ");
    registers = cap ? atoi(cap + 9) : 16;
    if (mood("greedy")) registers = 200;
    *module = &registers;
    return mood("nojit") ? 218 : OK;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = module;
    return strcmp(name, "kernel") ? NOT_FOUND : OK;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
    *value = attribute == 4 ? *(int *)function : 0;
    return OK;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    (void)function;
    if (attribute == 14) nonportable = value;
    return attribute == 8 && value > 232448 ? INVALID_VALUE : OK;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
    int warps = (threads + 31) / 32, held = 65536 / 4 / (32 * ((*(int *)function + 7) / 8 * 8)) * 4;
    *blocks = (held < 64 ? held : 64) / warps;
    if (*blocks > 32) *blocks = 32;
    if (shared && (int)(233472 / (shared + 1024)) < *blocks) *blocks = 233472 / (shared + 1024);
    return OK;
}
int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const Config *config) {
    (void)function;
    *size = nonportable ? 16 : 8;
    return config->count ? INVALID_VALUE : OK;
}
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const Config *config) {
    int blocks, size;
    if (config->count != 1 || config->attributes->id != 4) return INVALID_VALUE;
    size = config->attributes->value[0] * config->attributes->value[1] * config->attributes->value[2];
    if (size > (nonportable ? 16 : 8)) return 912;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, config->block[0], config->shared);
    *clusters = 132 * (blocks < 8 ? blocks : 8) / size;
    if (mood("lumpy")) *clusters -= *clusters / 6;
    return OK;
}

typedef int (*Function)();
int cuGetProcAddress_v2(const char *symbol, void **place, int version, unsigned long long flags,
                        int *found) {
    static const struct { const char *name; Function function; } ALL[] = {
        {"cuGetProcAddress", (Function)cuGetProcAddress_v2},
        {"cuInit", (Function)cuInit},
        {"cuDriverGetVersion", (Function)cuDriverGetVersion},
        {"cuDeviceGetCount", (Function)cuDeviceGetCount},
        {"cuDeviceGet", (Function)cuDeviceGet},
        {"cuDeviceGetName", (Function)cuDeviceGetName},
        {"cuDeviceGetUuid", (Function)cuDeviceGetUuid_v2},
        {"cuDeviceGetPCIBusId", (Function)cuDeviceGetPCIBusId},
        {"cuDeviceTotalMem", (Function)cuDeviceTotalMem_v2},
        {"cuDeviceGetAttribute", (Function)cuDeviceGetAttribute},
        {"cuDeviceGetP2PAttribute", (Function)cuDeviceGetP2PAttribute},
        {"cuGetErrorName", (Function)cuGetErrorName},
    };
    (void)version, (void)flags;
    *place = NULL;
    if (found) *found = 1;
    for (size_t n = 0; n < sizeof ALL / sizeof *ALL; n++)
        if (!strcmp(ALL[n].name, symbol)) {
            *place = (void *)ALL[n].function;
            if (found) *found = 0;
            return OK;
        }
    return NOT_FOUND;
}

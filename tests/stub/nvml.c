/* A small libnvidia-ml.so.1 for tests: one or two imaginary GPUs whose moods are named in the
 * environment variable STUB (words separated by commas). Functions that a test needs to be
 * missing in an old driver are left out on purpose: nvmlDeviceGetMemoryInfo_v2 answers only
 * without the mood "old". */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK, UNINITIALISED, INVALID, NOT_SUPPORTED, NO_PERMISSION };
enum { INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, LOST = 15, MISMATCH = 18, NOT_FOUND = 6,
       VERSION_MISMATCH = 25, UNKNOWN = 999 };

static int mood(const char *word) {
    const char *at = getenv("STUB");
    size_t length = strlen(word);
    for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, word, length) && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

static int modest(void) { return mood("modest") ? NOT_SUPPORTED : OK; }
static int is_slice(intptr_t gpu) { return gpu >= 100; }

#define PUT(place, value) do { int refused = modest(); if (refused) return refused; \
                               *(place) = (value); return OK; } while (0)

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    if (mood("hang")) sleep(60);
    if (mood("crash")) raise(SIGSEGV);
    if (mood("unloaded")) return DRIVER_NOT_LOADED;
    if (mood("mismatch")) return MISMATCH;
    return OK;
}
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "stub error"; }

static int text(char *place, unsigned size, const char *value) {
    snprintf(place, size, "%s", value);
    return OK;
}
int nvmlSystemGetDriverVersion(char *place, unsigned size) { return text(place, size, "580.1"); }
int nvmlSystemGetProcessName(unsigned pid, char *place, unsigned size) {
    if (pid == 7) return NOT_FOUND;
    return text(place, size, "/opt/\x1b[31mtrain");
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    if (mood("uncounted")) return UNKNOWN;
    *count = mood("none") ? 0 : mood("two") ? 2 : 1;
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, intptr_t *gpu) {
    if (mood("lost") && index == 0) return LOST;
    *gpu = (intptr_t)index + 1;
    return OK;
}
int nvmlDeviceGetName(intptr_t gpu, char *place, unsigned size) {
    if (mood("latin1")) return text(place, size, "NVIDIA \xe9");
    if (is_slice(gpu)) return text(place, size, "NVIDIA H200 MIG 1g.18gb");
    return text(place, size, mood("unheard") ? "NVIDIA Z900" : "NVIDIA H200");
}
int nvmlDeviceGetUUID(intptr_t gpu, char *place, unsigned size) {
    char value[64];
    snprintf(value, sizeof value, "%s-00000000-0000-0000-0000-%012d",
             is_slice(gpu) ? "MIG" : "GPU", (int)gpu);
    return text(place, size, value);
}

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; }
    Pci;
int nvmlDeviceGetPciInfo_v3(intptr_t gpu, Pci *pci) {
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", (int)gpu + 5);
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(intptr_t gpu, int *major, int *minor) {
    (void)gpu;
    if (mood("shy")) return UNKNOWN;
    *major = 9, *minor = 0;
    return OK;
}
int nvmlDeviceGetNumGpuCores(intptr_t gpu, unsigned *n) { (void)gpu; PUT(n, 16896); }
int nvmlDeviceGetMigMode(intptr_t gpu, unsigned *now, unsigned *next) {
    (void)gpu;
    *now = *next = (unsigned)mood("mig");
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(intptr_t gpu, unsigned *n) { (void)gpu; *n = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(intptr_t gpu, unsigned index, intptr_t *slice) {
    if (index != 0 && index != 2) return NOT_FOUND;
    *slice = gpu * 100 + (intptr_t)index;
    return OK;
}
int nvmlDeviceGetGpuInstanceId(intptr_t gpu, unsigned *id) { *id = (unsigned)gpu; return OK; }
int nvmlDeviceGetComputeInstanceId(intptr_t gpu, unsigned *id) { (void)gpu; *id = 0; return OK; }

typedef struct { unsigned sms, ce, dec, enc, jpeg, ofa, gpu_slices, compute_slices;
                 unsigned long long mib; } Attributes;
int nvmlDeviceGetAttributes_v2(intptr_t gpu, Attributes *a) {
    (void)gpu;
    memset(a, 0, sizeof *a);
    a->sms = 16, a->gpu_slices = 1, a->compute_slices = 1, a->mib = 16384;
    return OK;
}

typedef struct { unsigned long long total, free, used; } Memory1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } Memory2;
int nvmlDeviceGetMemoryInfo(intptr_t gpu, Memory1 *m) {
    (void)gpu;
    if (mood("memoryless")) return NOT_SUPPORTED;
    m->total = 150754820096ull, m->free = 149000000000ull, m->used = m->total - m->free;
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(intptr_t gpu, Memory2 *m) {
    (void)gpu;
    if (mood("old") || mood("memoryless")) return VERSION_MISMATCH;
    m->total = 150754820096ull, m->reserved = 600000000ull, m->free = 149000000000ull;
    m->used = m->total - m->free - m->reserved;
    return OK;
}
int nvmlDeviceGetMemoryBusWidth(intptr_t gpu, unsigned *n) { (void)gpu; PUT(n, 6016); }
int nvmlDeviceGetMaxClockInfo(intptr_t gpu, int kind, unsigned *mhz) {
    (void)gpu;
    PUT(mhz, kind == 2 ? 3201 : 1980);
}
int nvmlDeviceGetClockInfo(intptr_t gpu, int kind, unsigned *mhz) {
    (void)gpu;
    PUT(mhz, kind == 2 ? 3201 : 345);
}
int nvmlDeviceGetMaxPcieLinkGeneration(intptr_t gpu, unsigned *n) { (void)gpu; PUT(n, 5); }
int nvmlDeviceGetMaxPcieLinkWidth(intptr_t gpu, unsigned *n) { (void)gpu; PUT(n, 16); }
int nvmlDeviceGetCurrPcieLinkGeneration(intptr_t gpu, unsigned *n) { (void)gpu; PUT(n, 1); }
int nvmlDeviceGetCurrPcieLinkWidth(intptr_t gpu, unsigned *n) { (void)gpu; PUT(n, 16); }
int nvmlDeviceGetEnforcedPowerLimit(intptr_t gpu, unsigned *mw) {
    (void)gpu;
    PUT(mw, mood("capped") || mood("shared") ? 500000 : 700000);
}
int nvmlDeviceGetPowerManagementLimit(intptr_t gpu, unsigned *mw) {
    (void)gpu;
    PUT(mw, mood("capped") ? 500000 : 700000);
}
int nvmlDeviceGetPowerUsage(intptr_t gpu, unsigned *mw) { (void)gpu; PUT(mw, 76500); }
int nvmlDeviceGetEccMode(intptr_t gpu, unsigned *now, unsigned *next) {
    (void)gpu;
    *next = 0;
    PUT(now, 1);
}
int nvmlDeviceGetPerformanceState(intptr_t gpu, unsigned *n) {
    (void)gpu;
    *n = mood("stateless") ? 32 : 0;
    return OK;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(intptr_t gpu, unsigned long long *bits) {
    (void)gpu;
    PUT(bits, mood("hot") ? 0x20000024ull : 1);
}
int nvmlDeviceGetTemperature(intptr_t gpu, int sensor, unsigned *c) {
    (void)gpu, (void)sensor;
    PUT(c, 31);
}
int nvmlDeviceGetTemperatureThreshold(intptr_t gpu, int which, unsigned *c) {
    (void)gpu;
    PUT(c, which == 0 ? 92 : 89);
}
typedef struct { unsigned gpu, memory; } Rates;
int nvmlDeviceGetUtilizationRates(intptr_t gpu, Rates *rates) {
    if (is_slice(gpu)) return NOT_SUPPORTED;
    rates->gpu = 50, rates->memory = 25;
    return modest();
}
int nvmlDeviceGetTotalEccErrors(intptr_t gpu, int kind, int counter, unsigned long long *n) {
    (void)gpu, (void)counter;
    if (mood("guest")) return NO_PERMISSION;
    PUT(n, kind ? 0 : 3);
}
int nvmlDeviceGetRemappedRows(intptr_t gpu, unsigned *c, unsigned *u, unsigned *p, unsigned *f) {
    (void)gpu;
    *c = *u = *f = 0;
    PUT(p, 1);
}
int nvmlDeviceGetPersistenceMode(intptr_t gpu, unsigned *mode) { (void)gpu; PUT(mode, 1); }
int nvmlDeviceGetComputeMode(intptr_t gpu, unsigned *mode) {
    (void)gpu;
    PUT(mode, mood("future") ? 9u : 3u);
}

int nvmlDeviceGetMinorNumber(intptr_t gpu, unsigned *n) { *n = (unsigned)gpu - 1; return OK; }
int nvmlDeviceGetPowerManagementDefaultLimit(intptr_t gpu, unsigned *mw) {
    (void)gpu;
    PUT(mw, 700000);
}
int nvmlDeviceGetPowerManagementLimitConstraints(intptr_t gpu, unsigned *least, unsigned *most) {
    (void)gpu;
    *least = 200000;
    PUT(most, 700000);
}
typedef struct { unsigned long long reference, violation; } Violation;
int nvmlDeviceGetViolationStatus(intptr_t gpu, int policy, Violation *time) {
    (void)gpu;
    time->reference = 0;
    PUT(&time->violation, policy == 0 ? 1500000000ull : 0);
}
int nvmlDeviceGetRetiredPages(intptr_t gpu, int cause, unsigned *count, void *pages) {
    (void)gpu, (void)cause, (void)pages;
    if (!mood("volta")) return NOT_SUPPORTED;
    *count = cause;
    return OK;
}
int nvmlDeviceGetRetiredPagesPendingStatus(intptr_t gpu, unsigned *pending) {
    (void)gpu;
    if (!mood("volta")) return NOT_SUPPORTED;
    *pending = 1;
    return OK;
}

/* How GPUs are connected: with the mood "linked" 4 NVLinks of which the last is down, to switches
 * or, with "direct", to the other GPU. "erring": link 1 sent packets again; "asleep": the last link
 * rests; "counted": errors are not fields, as before Hopper; "gapped": the chip lacks link 1. */
typedef struct { unsigned field, scope; long long stamp, latency; int type, code;
                 union { double d; int si; unsigned ui; unsigned long long ull; } value; } Field;
int nvmlDeviceGetFieldValues(intptr_t gpu, int count, Field *fields) {
    (void)gpu;
    for (int n = 0; n < count; n++) {
        fields[n].code = modest();
        if (fields[n].field == 82) fields[n].value.ui = 38;
        else if (fields[n].field == 230) fields[n].value.ui = mood("future") ? 12 : mood("sick") ? 2 : 0;
        else if (fields[n].field == 164) fields[n].value.ui = 26562;
        else if (fields[n].field >= 161 && fields[n].field <= 163 && !mood("counted")) {
            fields[n].type = 3;
            fields[n].value.ull = mood("erring") && fields[n].scope == 1 ? fields[n].field - 160 : 0;
        }
        else fields[n].code = NOT_SUPPORTED;
    }
    return OK;
}
int nvmlDeviceGetNvLinkState(intptr_t gpu, unsigned link, int *up) {
    (void)gpu;
    if (!mood("linked")) return NOT_SUPPORTED;
    if (link >= 4) return INVALID;
    if (mood("gapped") && link == 1) return NOT_SUPPORTED;
    *up = mood("parted") ? 0 : link < 3 ? 1 : mood("asleep") ? 2 : 0;
    return OK;
}
int nvmlDeviceGetNvLinkErrorCounter(intptr_t gpu, unsigned link, int kind, unsigned long long *n) {
    (void)gpu;
    if (!mood("counted")) return NOT_SUPPORTED;
    *n = mood("erring") && link == 1 ? (unsigned)kind + 1 : 0;
    return OK;
}
int nvmlSystemGetNvlinkBwMode(unsigned *mode) {
    if (!mood("halved")) return NOT_SUPPORTED;
    *mode = 3;
    return OK;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(intptr_t gpu, unsigned link, int *type) {
    (void)gpu, (void)link;
    *type = mood("direct") ? 0 : 2;
    return OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(intptr_t gpu, unsigned link, Pci *pci) {
    (void)link;
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", gpu == 1 ? 7 : 6);
    return OK;
}
int nvmlDeviceGetTopologyCommonAncestor(intptr_t gpu, intptr_t peer, int *level) {
    (void)gpu, (void)peer;
    PUT(level, 30);
}
int nvmlDeviceGetP2PStatus(intptr_t gpu, intptr_t peer, int capability, int *status) {
    (void)gpu, (void)peer;
    PUT(status, mood("linked") ? 0 : capability == 3 ? 5 : 3);
}
int nvmlDeviceGetGpuMaxPcieLinkGeneration(intptr_t gpu, unsigned *n) { (void)gpu; PUT(n, 5); }
int nvmlDeviceGetCpuAffinity(intptr_t gpu, unsigned words, unsigned long *set) {
    (void)gpu;
    memset(set, 0, words * sizeof *set);
    set[0] = 0xffff, set[1] = 2;
    return modest();
}
int nvmlDeviceGetMemoryAffinity(intptr_t gpu, unsigned words, unsigned long *set, int scope) {
    (void)words, (void)scope;
    PUT(set, 1ul << (gpu - 1));
}

typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } Process;
int nvmlDeviceGetComputeRunningProcesses_v3(intptr_t gpu, unsigned *count, Process *some) {
    (void)gpu;
    if (modest()) return NOT_SUPPORTED;
    if (!mood("busy")) { *count = 0; return OK; }
    if (*count < 2) { *count = 2; return INSUFFICIENT_SIZE; }
    *count = 2;
    some[0] = (Process){4242, 1 << 20, ~0u, ~0u};
    some[1] = (Process){7, ~0ull, ~0u, ~0u};
    return OK;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(intptr_t gpu, unsigned *count, Process *some) {
    (void)gpu, (void)some;
    *count = 0;
    return OK;
}

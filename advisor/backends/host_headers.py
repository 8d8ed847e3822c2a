"""Stand-ins for headers of the host that NVRTC has none of.

They hold the types and macros that kernels use, or nothing. NVRTC knows the declarations of the
CUDA runtime that device code may use without a header.
"""

from __future__ import annotations

# nvcc includes the runtime, and with it these headers of C, before every file.
PRELUDE = "gpuadvise_prelude.h"
_STDINT = b"""typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t; typedef long long intptr_t;
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define UINT8_MAX 255
#define UINT16_MAX 65535
"""
# Names that the C library of Linux gives, and nvcc takes with it.
_SHORT_NAMES = b"""typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;
"""
_LIMITS = b"""#define CHAR_BIT 8
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#define SHRT_MAX 32767
#define USHRT_MAX 65535
"""
_FLOAT = b"""#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_MATH = b"""#ifndef M_PI
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_E 2.71828182845904523536
#define M_SQRT2 1.41421356237309504880
#define M_LN2 0.69314718055994530942
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
"""
# The C++ library has these of mixed arguments too.
_POWERS = b"""__device__ inline double pow(float x, double y) { return pow((double)x, y); }
__device__ inline double pow(double x, float y) { return pow(x, (double)y); }
"""
_BOOL_CONSTANT = b"""namespace std {
template <bool B> struct bool_constant {
  static constexpr bool value = B;
  using value_type = bool;
  using type = bool_constant<B>;
  constexpr operator bool() const noexcept { return B; }
  constexpr bool operator()() const noexcept { return B; }
};
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;
}
"""
_NARROW_FLOATS = b"#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
_EMPTY = (
    "algorithm", "any", "array", "atomic", "cassert", "cctype", "cerrno", "chrono", "complex",
    "condition_variable", "csignal", "cstdarg", "cstddef", "cstdio", "cstdlib", "cstring",
    "ctime", "deque", "exception", "filesystem", "fstream", "functional", "future",
    "initializer_list", "iomanip", "ios", "iosfwd", "iostream", "istream", "iterator", "list",
    "map", "memory", "mutex", "numeric", "optional", "ostream", "queue", "random", "regex", "set",
    "sstream", "stack", "stdexcept", "streambuf", "string", "string_view", "system_error",
    "thread", "tuple", "type_traits", "typeinfo", "unordered_map", "unordered_set", "utility",
    "valarray", "variant", "vector", "assert.h", "ctype.h", "errno.h", "getopt.h", "memory.h",
    "pthread.h", "signal.h", "stdarg.h", "stdbool.h", "stddef.h", "stdio.h", "stdlib.h",
    "string.h", "strings.h", "time.h", "unistd.h", "sys/time.h", "sys/types.h", "sys/stat.h",
    "omp.h", "mpi.h", "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "cuda_profiler_api.h",
    "device_launch_parameters.h", "driver_types.h", "curand.h", "cusparse.h", "cusolverDn.h",
    "cufft.h",
)  # fmt: skip
# Headers of the host that NVRTC has none of: what kernels use of them, or nothing. NVRTC knows
# the runtime's own declarations without a header.
HOST_HEADERS: dict[str, bytes] = {
    PRELUDE: _STDINT + _SHORT_NAMES + _BOOL_CONSTANT + _LIMITS + _FLOAT + _MATH + _POWERS,
    "cublas_v2.h": _NARROW_FLOATS, "cublasLt.h": _NARROW_FLOATS, "cudnn.h": _NARROW_FLOATS,
    **dict.fromkeys(_EMPTY, b""),
    "stdint.h": _STDINT, "cstdint": _STDINT, "inttypes.h": _STDINT, "cinttypes": _STDINT,
    "limits.h": _LIMITS, "climits": _LIMITS, "limits": _LIMITS + _FLOAT,
    "float.h": _FLOAT, "cfloat": _FLOAT,
    "math.h": _MATH, "cmath": _MATH,
}  # fmt: skip

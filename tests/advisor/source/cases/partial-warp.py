# case: a raw kernel of CuPy
import cupy as cp
import triton
from numba import cuda

add = cp.RawKernel(code, "add")
add((4,), (100,), (a, b))  # expect: partial-warp
# case: whole warps
add((4,), (128,), (a, b))
# case: two dimensions
add((4, 4), (10, 10), (a,))  # expect: partial-warp
# case: two dimensions that are whole
add((4, 4), (16, 16), (a,))
# case: unknown
add((4,), (n,), (a,))
# case: one thread
add((1,), (1,), (a,))


# case: Numba
@cuda.jit
def scale(x):
    x[cuda.grid(1)] *= 2


scale[16, 48](x)  # expect: partial-warp
# case: Numba with whole warps
scale[16, 256](x)
# case: Numba by name
threads = 250
scale[16, threads](x)  # expect: partial-warp
# case: Numba with a tuple
block = (8, 8)
scale[(4, 4), block](x)
# case: Numba with a stream
scale[16, 64, stream](x)


# case: Triton
@triton.jit
def kernel(x):
    pass


kernel[(16,)](x, num_warps=4)
# case: Triton with three warps
kernel[(16,)](x, num_warps=3)  # expect: partial-warp
# case: a list
table[16, 48](x)

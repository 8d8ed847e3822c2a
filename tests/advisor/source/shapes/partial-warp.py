# case: Numba, two dimensions by product
import math

import cupy
from numba import cuda

ROWS = 10


@cuda.jit
def smooth(a):
    i, j = cuda.grid(2)


smooth[(8, 8), (ROWS, 10)](a)  # expect: partial-warp
# case: Numba, whole
threads = 256
blocks = math.ceil(n / threads)
smooth[blocks, threads](a)
# case: a block that grows in a loop
for size in (32, 64, 100):
    smooth[1, size](a)
# case: the size of the data
smooth[1, a.size](a)
# case: a kernel of a raw module
module = cupy.RawModule(code=code)
scale = module.get_function("scale")
scale((4,), (256,), (a,))

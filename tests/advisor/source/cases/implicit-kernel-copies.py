# case: an array of NumPy
import numpy as np
from numba import cuda, vectorize


@cuda.jit
def scale(x, n):
    x[cuda.grid(1)] *= n


@cuda.jit("void(float32[:])")
def twice(x):
    x[cuda.grid(1)] *= 2


def zeros():
    x = np.zeros(1 << 20)
    scale[4096, 256](x, 2)  # expect: implicit-kernel-copies


# case: behind a method
def typed():
    x = np.random.rand(1 << 20).astype(np.float32)
    twice[4096, 256](x)  # expect: implicit-kernel-copies


# case: two of them
def two():
    x, n = 1, 2
    a = np.ones(9000)
    b = np.ones(9000)
    scale[1, 32](a, b)  # expect: implicit-kernel-copies


# case: in a loop
def looped():
    x = np.arange(1 << 20)
    for i in range(9):
        scale[4096, 256](x, i)  # expect: implicit-kernel-copies


# case: with a configuration by name
def named():
    x = np.empty(9)
    blocks, threads = 1, 32
    twice[blocks, threads](x)  # expect: implicit-kernel-copies


# case: one that is copied, and one that is not
def mixed():
    d = cuda.to_device(np.ones(9))
    x = np.ones(9)
    scale[1, 32](d, x)  # expect: implicit-kernel-copies


# case: copied before
def copied():
    x = np.zeros(9)
    d = cuda.to_device(x)
    twice[1, 32](d)


# case: made there
def made():
    d = cuda.device_array(9)
    twice[1, 32](d)


# case: a parameter
def given(x):
    twice[1, 32](x)


# case: the name is copied too
def again():
    x = np.zeros(9)
    x = cuda.to_device(x)
    twice[1, 32](x)


# case: a number
def number():
    d = cuda.to_device(np.ones(9))
    n = 2
    scale[1, 32](d, n)


# case: of CuPy
def of_cupy():
    import cupy

    x = cupy.zeros(9)
    twice[1, 32](x)


# case: on the host
def on_host(f):
    x = np.zeros(9)
    return f(x)


# case: another subscript
def table(functions):
    x = np.zeros(9)
    return functions[1](x)


# case: managed memory
def managed():
    x = cuda.managed_array(9)
    twice[1, 32](x)


# case: pinned and mapped
def mapped():
    x = cuda.mapped_array(9)
    twice[1, 32](x)


# case: another function's name
def other():
    x = cuda.device_array(9)
    twice[1, 32](x)


# case: a length of one
def length():
    x = np.zeros(9)
    d = cuda.to_device(x)
    scale[1, 32](d, len(x))


# case: a function that is no kernel
def plain(x):
    return x


def call_plain():
    x = np.zeros(9)
    return plain(x)


# case: a universal function
@vectorize(["float32(float32)"], target="cuda")
def root(x):
    return x**0.5


def call_universal():
    x = np.ones(9)
    return root(x)  # expect: implicit-kernel-copies


# case: a universal function of the host
@vectorize(["float32(float32)"])
def host_root(x):
    return x**0.5


def call_host():
    x = np.ones(9)
    return host_root(x)


# case: a universal function, and an array of the GPU
def call_on_device():
    x = cuda.to_device(values)
    return root(x)
# ---
# case: few elements
import numpy as np
from numba import cuda


@cuda.jit
def total(out, x):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


out = np.zeros(7)
x = np.random.normal(size=(8, 8)).astype(np.float32)
total[1, 64](out, x)
# ---
# case: few and many
import numpy as np
from numba import cuda


@cuda.jit
def sums(out, x):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


few = np.zeros(10)
many = np.random.normal(size=1_000_000)
sums[64, 64](few, many)  # expect: implicit-kernel-copies

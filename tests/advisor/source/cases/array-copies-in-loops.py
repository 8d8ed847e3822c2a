# case: read in each round
import cupy as cp
import numpy as np
from numba import cuda

x = cp.zeros(1000)
for i in range(99):
    x = cp.sin(x)
    seen.append(cp.asnumpy(x))  # expect: array-copies-in-loops
# case: read by get()
y = cp.zeros(1000)
for i in range(99):
    y = cp.sin(y)
    seen.append(y.get())  # expect: array-copies-in-loops
# case: uploaded in each round
for a in arrays:
    z = cp.asarray(a)  # expect: array-copies-in-loops
# case: uploaded by array()
for a in arrays:
    z = cp.array(a)  # expect: array-copies-in-loops
# case: by Numba
for a in arrays:
    d = cuda.to_device(a)  # expect: array-copies-in-loops
# case: read by Numba
for a in arrays:
    seen.append(d.copy_to_host())  # expect: array-copies-in-loops
# case: once
x = cp.asarray(np.zeros(9))
# case: once behind the loop
for i in range(99):
    x = cp.sin(x)
seen = cp.asnumpy(x)
# case: now and then
for i in range(99):
    if i % 10 == 0:
        seen.append(cp.asnumpy(x))
# case: few rounds
for i in range(4):
    seen.append(cp.asnumpy(x))
# case: get() of a dictionary
table = {}
for key in keys:
    value = table.get(key)
# case: get() of something else
for box in boxes:
    value = box.get()
# case: made on the GPU
for i in range(99):
    z = cp.zeros(9)
# case: a list of few numbers
for i in range(99):
    z = cp.array([1, 2, 3])
# case: room on the GPU
for i in range(99):
    d = cuda.device_array(9)
# case: of NumPy
for a in arrays:
    z = np.asarray(a)


# case: a function without a loop
def to_host(x):
    return cp.asnumpy(x)


# case: in the else of a loop
for i in range(99):
    x = cp.sin(x)
else:
    seen = cp.asnumpy(x)
# case: in the iterable
for v in cp.asnumpy(x):
    print(v)
# case: an array at most
for a in arrays:
    a = cp.asarray(a)
# case: each array once
for a in arrays:
    seen.append(cp.asnumpy(a))
# case: kept in its place
for key in arrays:
    arrays[key] = cp.asnumpy(arrays[key])
# case: to each GPU
for i in range(count):
    with cp.cuda.Device(i):
        parts.append(cp.array(host))

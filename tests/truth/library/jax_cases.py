"""Kernels that the XLA compiler fuses for JAX."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_enable_command_buffer=")

import jax
import jax.numpy as jnp
import session
from cuda.bindings import driver

if TYPE_CHECKING:
    from collections.abc import Callable


def uniform(*shape: int) -> jax.Array:
    """Random numbers of a shape, on the device."""
    return jax.random.uniform(jax.random.key(0), shape, dtype=jnp.float32)


CASES: dict[str, tuple[Callable[..., object], Callable[[], tuple[jax.Array, ...]]]] = {
    "fused_elements": (
        lambda x, y: jnp.tanh(x * y) + jnp.sin(x),
        lambda: (uniform(8192, 4096), uniform(8192, 4096)),
    ),
    "softmax": (lambda x: jax.nn.softmax(x, -1), lambda: (uniform(8192, 4096),)),
    "layer_norm": (
        lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
        lambda: (uniform(8192, 4096),),
    ),
    "sum_all": (jnp.sum, lambda: (uniform(8192, 4096),)),
    "sum_columns": (lambda x: x.sum(0), lambda: (uniform(65_536, 512),)),
    "transpose": (lambda x: x.T + 1, lambda: (uniform(8192, 4096),)),
}


def prepare(name: str) -> session.Case:
    """Return a case compiled, with its inputs on the device."""
    body, inputs = CASES[name]
    compiled, arguments = jax.jit(body), inputs()
    # The profiler's marks belong to a context: the device's primary one must be current here.
    device = driver.cuDeviceGet(0)[1]
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(device)[1])
    return name, lambda: jax.block_until_ready(compiled(*arguments)), lambda: None


if __name__ == "__main__":
    session.run("jax", prepare, list(CASES))

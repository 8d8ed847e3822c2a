"""Common faults of a JAX program, each beside its repair, timed and then traced.

``jax_faults.py FOLDER`` writes CASE.trace.json.gz for each case and adds a line to
FOLDER/seconds.ndjson.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

CASES = {}


def case(build):
    """Register a function that prepares a case and returns what to run."""
    CASES[build.__name__] = build
    return build


@case
def tiny_launches():
    values = jnp.zeros(4096)
    add = jax.jit(lambda x: x + 1.0)

    def run():
        x = values
        for _ in range(300):
            x = add(x)
        x.block_until_ready()

    return run


@case
def one_scan():
    values = jnp.zeros(4096)
    add = jax.jit(lambda x: jax.lax.fori_loop(0, 300, lambda _, y: y + 1.0, x))
    return lambda: add(values).block_until_ready()


@case
def small_copies():
    host = [np.zeros(1024, np.float32) for _ in range(300)]
    return lambda: jax.block_until_ready([jax.device_put(part) for part in host])


@case
def one_copy():
    host = np.zeros(300 * 1024, np.float32)
    return lambda: jax.device_put(host).block_until_ready()


@case
def large_copy():
    host = np.zeros(64 << 20, np.uint8)
    return lambda: np.asarray(jax.device_put(host).block_until_ready() + 1)


def products(dtype, size, precision=None):
    """Return a run of eight matrix products."""
    a = jnp.ones((size, size), dtype)
    multiply = jax.jit(lambda x, y: jnp.matmul(x, y, precision=precision))

    def run():
        jax.block_until_ready([multiply(a, a) for _ in range(8)])

    return run


@case
def gemm_fp32():
    return products(jnp.float32, 4096, "highest")


@case
def gemm_bf16():
    return products(jnp.bfloat16, 4096)


@case
def gemm_odd():
    return products(jnp.bfloat16, 4095)


@case
def item_each_step():
    values = jnp.zeros(1 << 16)
    step = jax.jit(lambda x: (x + 1.0, x.sum()))

    def run():
        x, total = values, 0.0
        for _ in range(100):
            x, part = step(x)
            total += float(part)

    return run


@case
def item_once():
    values = jnp.zeros(1 << 16)
    step = jax.jit(lambda x, total: (x + 1.0, total + x.sum()))

    def run():
        x, total = values, jnp.zeros(())
        for _ in range(100):
            x, total = step(x, total)
        float(total)

    return run


@case
def host_gaps():
    matrix = jnp.ones((4096, 4096))
    multiply = jax.jit(jnp.matmul)

    def run():
        for _ in range(5):
            multiply(matrix, matrix).block_until_ready()
            time.sleep(0.005)

    return run


def timed(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def trace(run, target):
    """Trace one run and move the trace JSON to *target*."""
    with tempfile.TemporaryDirectory() as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace(folder, profiler_options=options)
        profiled = timed(run)
        jax.profiler.stop_trace()
        traces = sorted(Path(folder).rglob("*.trace.json.gz"))
        shutil.copy(traces[0], target)
    return profiled


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "seconds.ndjson").open("a") as log:
        for name, build in CASES.items():
            try:
                run = build()
                timed(run)
                seconds = [timed(run) for _ in range(5)]
                profiled = trace(run, folder / f"{name}.trace.json.gz")
                line = {
                    "case": name,
                    "seconds": seconds,
                    "median": statistics.median(seconds),
                    "profiled": profiled,
                }
            except Exception as error:
                line = {"case": name, "error": f"{type(error).__name__}: {error}"[:300]}
            log.write(json.dumps(line) + "\n")
            log.flush()
            print(name, line.get("error", "recorded"), flush=True)


if __name__ == "__main__":
    main()

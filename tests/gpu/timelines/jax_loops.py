"""A loop of a JAX program that waits for each step, and one that does not: timed, then traced.

``jax_loops.py FOLDER`` writes CASE.trace.json.gz and CASE.xplane.pb for each case and adds a line
to FOLDER/seconds.ndjson: the seconds of one step without a profiler.
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
import numpy

STEPS = 6
CASES = {}


def case(build):
    """Register a function that prepares a loop and returns what runs it."""
    CASES[build.__name__] = build
    return build


def make_batch(step):
    """Return a batch that the host computes."""
    return numpy.sin(numpy.arange(1 << 18, dtype=numpy.float32) + step)


@jax.jit
def update(weights, batch):
    """Return new weights."""
    hidden = jnp.tanh(batch.reshape(256, 1024) @ weights)
    return weights - 1e-3 * (batch.reshape(256, 1024).T @ hidden)


@case
def loop_waits():
    def run():
        weights = jnp.ones((1024, 1024))
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                batch = make_batch(step)
                weights = update(weights, batch)
                float(weights[0, 0])

    return run


@case
def loop_ahead():
    def run():
        weights, batches = jnp.ones((1024, 1024)), [jnp.asarray(make_batch(0))] * STEPS
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                weights = update(weights, batches[step])
        weights.block_until_ready()

    return run


def timed(run):
    """Return the seconds of one step."""
    begin = time.perf_counter()
    run()
    return (time.perf_counter() - begin) / STEPS


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "seconds.ndjson").open("a") as log:
        for name, build in CASES.items():
            run = build()
            timed(run)
            seconds = [timed(run) for _ in range(5)]
            with tempfile.TemporaryDirectory() as place:
                with jax.profiler.trace(place):
                    run()
                for path in Path(place).rglob("*"):
                    if path.name.endswith((".trace.json.gz", ".xplane.pb")):
                        ending = ".xplane.pb" if path.suffix == ".pb" else ".trace.json.gz"
                        shutil.copy(path, folder / f"{name}{ending}")
            line = {"case": name, "seconds": seconds, "median": statistics.median(seconds)}
            log.write(json.dumps(line) + "\n")
            print(name, line["median"], flush=True)


if __name__ == "__main__":
    main()

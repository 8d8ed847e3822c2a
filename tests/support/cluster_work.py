"""Work for the tests of engines: some of it ends the process that does it."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

from gpuadvise.advisor.engines.batch import run_batch
from gpuadvise.advisor.errors import BadInput

HUGE = 2 << 30


def squares(items):
    """Yield the square of each number, or do what a word says."""
    for item in items:
        match item:
            case "dies":
                os.kill(os.getpid(), 9)
            case "hangs":
                time.sleep(600)
            case "grows":
                whole = bytearray(HUGE)
                whole[::4096] = b"x" * len(whole[::4096])
            case "breaks":
                raise ValueError("a fault")
            case "bad":
                raise BadInput("It is bad.", hint="Mend it.")
            case _:
                yield item * item


def slow_squares(items):
    """Yield the square of each number, a fifth of a second later."""
    for item in items:
        time.sleep(0.2)
        yield item * item


def logged(items):
    """Yield the square of each number, and add a line to the file beside it: who counts them?"""
    for path, number in items:
        with Path(path).open("a") as log:
            log.write(f"{number}\n")
        time.sleep(0.2)
        yield number * number


def printed(items):
    """Yield each item, with noise on what would be the pipe."""
    for item in items:
        print("noise")
        yield item


def dies_at_marks(version, folder, payload, seconds):
    """Do what a worker does, as if files called MARK killed their readers."""
    work, inputs = pickle.loads(payload)
    if "MARK" in repr(inputs[0]):
        payload = pickle.dumps((squares, ["dies"]))
    elif "MARK" in repr(inputs):
        payload = pickle.dumps((work, inputs[:1]))
    return run_batch(version, folder, payload, seconds)

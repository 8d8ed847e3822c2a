"""``gpuadvise compat``: does the device code in a file run on a GPU, and why or why not."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from gpuadvise.advisor.backends.choose import VARIABLE
from gpuadvise.advisor.backends.remote_files import located
from gpuadvise.advisor.binaries.file_type import CODE_SUFFIXES
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli import completion
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.compat.answer import every_capability, gpu_answer, matrix_answer, with_names
from gpuadvise.cli.compat.request import STDIN, driver_for, held_by_all, held_by_each
from gpuadvise.cli.engines import chosen_engine
from gpuadvise.cli.options import EngineOptions, GpuOptions, Text, pick, read
from gpuadvise.cli.parameters import argument

EXAMPLES = """\
  gpuadvise compat libfoo.so --gpu rtx5090
  gpuadvise compat package.whl --gpu "RTX 2080 Ti" --driver 12.4
  gpuadvise compat torch --gpu rtx5090                # as it is installed
  gpuadvise compat libfoo.so --gpu h100 --get verdict
  gpuadvise compat libfoo.so --all-gpus --format csv
  gpuadvise compat dist/*.whl --gpu l4 --fail-on jit"""

THRESHOLDS = ("jit", "fails")


def command(
    files: Annotated[
        list[str],
        argument(
            "FILE...",
            "Library, object, wheel, PTX, folder, installed package; -: stdin.",
        ),
    ],
    driver: Annotated[Text, pick("driver")] = None,
    all_gpus: Annotated[bool, pick("all_gpus")] = False,
    fail_on: Annotated[
        Text,
        pick(
            "fail_on",
            "Exit 1 when any file fails, or is jit or worse.",
            complete=completion.words("jit", "fails"),
        ),
    ] = None,
    gpu: GpuOptions = GpuOptions(),
    engine: EngineOptions = EngineOptions(),
) -> Answer:
    """Say whether the device code in FILE runs on a GPU, and what would mend it."""
    if fail_on is not None and fail_on not in THRESHOLDS:
        raise BadInput(f"--fail-on: {quoted(fail_on)} is not a verdict.", hint="Use jit or fails.")
    files = located(files, CODE_SUFFIXES)
    given = {"files": files, "driver": driver, "fail_on": fail_on, "matrix": all_gpus}
    if files.count(STDIN) > 1:
        raise BadInput("Standard input can be read only once.")
    if all_gpus and any(gpu):
        raise BadInput("--all-gpus is about every GPU.", hint="Leave out the one that is named.")
    if all_gpus and fail_on is not None:
        raise BadInput(
            "--fail-on judges for one GPU, and --all-gpus names none: code that runs on one of them "
            "would pass.",
            hint="Name the GPU: --gpu l4.",
        )
    choice = None if all_gpus else gpu.choice()
    if choice and choice.assumed:
        if fail_on is not None:
            raise BadInput(
                "--fail-on needs a GPU to judge for, and there is none here.",
                hint=f"Name it: --gpu l4, or {VARIABLE}.",
            )
        given["matrix"] = True
    one = choice if choice and not choice.assumed else None
    spread = chosen_engine(engine)
    if spread is None:
        held = held_by_all(files)
    else:
        gpus = {one.device.capability} if one else every_capability()
        known = driver_for(driver, one) if one else read("driver", driver)
        held = held_by_each(files, spread, partial(with_names, gpus, known))
    if one:
        return gpu_answer(held, given, one, named=spread is not None)
    answer = matrix_answer(held, given, named=spread is not None)
    if choice is None:
        return answer
    note = f"No live GPU: answered for every GPU; --gpu or ${VARIABLE} names one."
    return answer._replace(notes=(note, *answer.notes))

"""``gpuadvise measure``: copies, access patterns, overlap and rates on a live GPU."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, plural, quoted
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.cli import completion
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Line, Tone
from gpuadvise.cli.devices import cuda_ordinal, device_block, device_line, live_gpu
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.options import Live, Whole, pick
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.measure.session import Collected, Session
    from gpuadvise.advisor.gpu import Gpu
    from gpuadvise.cli.measure.subject import Measured, Subject

SUBJECTS = ("copies", "access", "bandwidth", "overlap", "kernel-rate", "p2p")
EXAMPLES = """\
  gpuadvise measure copies --quick
  gpuadvise measure copies --json > box.json  # for: overlap --calibration
  gpuadvise measure bandwidth --word 16 --save
  gpuadvise measure p2p
  gpuadvise measure overlap --get median_error"""


def command(
    subject: Annotated[
        str, argument("SUBJECT", ", ".join(SUBJECTS), complete=completion.words(*SUBJECTS))
    ],
    quick: Annotated[bool, pick("quick")] = False,
    word: Annotated[Whole, pick("word", "Of bandwidth: words of 4, 8 or 16 bytes alone.")] = None,
    save: Annotated[bool, pick("save")] = False,
    device: Live = None,
) -> Answer | Exit:
    """Measure SUBJECT on a live GPU and compare with what is expected."""
    from gpuadvise.advisor.backends.measure.session import Session

    chosen = _subject(subject, _word(subject, word))
    if save and not chosen.kept:
        raise BadInput(f"--save: {subject} measures nothing that other commands use.")
    gpu = live_gpu(device)
    with Session(cuda_ordinal(gpu)) as session:
        collected = _collected(chosen, session, quick)
        if not collected.items:
            return _nothing(session, collected)
        measured, collected = _calibrated(chosen, session, gpu, collected, quick)
    stopped = "Interrupted." if collected.interrupted else collected.fault
    kept = _kept(gpu, measured) if save else ()
    head = [Line(f"Measured on {device_line(gpu.device)}.", Tone.STRONG)]
    head += [Line(f"Only part of it: {stopped}", Tone.BAD)] if stopped else []
    return Answer(
        command="measure",
        device=device_block(gpu.device),
        input={"subject": subject, "quick": quick, "word": _word(subject, word), "save": save},
        result={"partial": collected.partial, "stopped": stopped, **measured.summary,
                "rows": list(measured.rows)},
        rows=measured.rows,
        blocks=lambda: [*head, *measured.blocks()],
        notes=(*_neighbours(gpu), *_left_out(chosen, collected, quick), *kept),
        exit=Exit.INTERRUPTED
        if collected.interrupted
        else Exit.UNAVAILABLE
        if collected.fault
        else Exit.RAN,
    )  # fmt: skip


def _word(subject: str, size: int | None) -> int | None:
    """Return the bytes of ``--word``; raises BadInput where there are no such words."""
    if size is None:
        return None
    from gpuadvise.advisor.backends.measure.bandwidth import WORDS

    if size not in WORDS or subject != "bandwidth":
        raise BadInput("--word takes 4, 8 or 16, and only bandwidth has words.")
    return size


def _kept(gpu: Gpu, measured: Measured) -> tuple[str, ...]:
    """Save what *measured* says of *gpu* and return a note that says where."""
    from gpuadvise.advisor.backends.calibration_file import save, today
    from gpuadvise.advisor.calibration import from_json

    calibration = from_json(dict(measured.summary))
    if calibration.links is None and not calibration.memory_bandwidth and not calibration.peaks:
        return ("Nothing was saved: the measurement is not complete.",)
    whole = replace(calibration, gpu=gpu.device.name, measured=today())
    return (f"Saved for this GPU in {save(gpu.identity, whole)}.",)


def _subject(name: str, word: int | None) -> Subject:
    match name:
        case "copies":
            from gpuadvise.cli.measure.copies import COPIES

            return COPIES
        case "access":
            from gpuadvise.cli.measure.access import ACCESS

            return ACCESS
        case "overlap":
            from gpuadvise.cli.measure.overlap import OVERLAP

            return OVERLAP
        case "bandwidth":
            from gpuadvise.cli.measure.bandwidth import bandwidth

            return bandwidth(word)
        case "p2p":
            from gpuadvise.cli.measure.peers import PEERS

            return PEERS
        case "kernel-rate":
            from gpuadvise.cli.measure.rate import RATES

            return RATES
    raise BadInput(
        f"{quoted(name)} cannot be measured.", hint=f"Measure {and_list(SUBJECTS, 'or')}."
    )


def _collected(subject: Subject, session: Session, quick: bool) -> Collected[Any]:
    from gpuadvise.advisor.backends.measure.session import collect
    from gpuadvise.cli.progress import progress

    with progress(subject.count(quick)) as step:
        return collect(subject.run(session, quick), lambda item: step(subject.label(item)))


def _calibrated(
    subject: Subject, session: Session, gpu: Gpu, collected: Collected[Any], quick: bool
) -> tuple[Measured, Collected[Any]]:
    """Return the answer; without a calibration once the device failed or the user has enough."""
    from gpuadvise.advisor.backends.measure.calls import DriverFault

    if not collected.partial:
        try:
            return subject.measured(session, gpu.device, collected.items, quick), collected
        except KeyboardInterrupt:
            collected = replace(collected, interrupted=True)
        except DriverFault as fault:
            collected = replace(collected, fault=fault.message)
    return subject.measured(None, gpu.device, collected.items, quick), collected


def _nothing(session: Session, collected: Collected[Any]) -> Exit:
    """Return the exit code of an interruption; raises Unavailable where nothing was possible."""
    if collected.interrupted:
        return Exit.INTERRUPTED
    raise Unavailable(
        f"Nothing was measured: {show_bytes(session.free_bytes())} of device memory are free.",
        hint="gpuadvise device --telemetry names the processes that hold the rest.",
    )


def _left_out(subject: Subject, collected: Collected[Any], quick: bool) -> tuple[str, ...]:
    left = subject.count(quick) - len(collected.items)
    if collected.partial or not left or not subject.needs_memory:
        return ()
    return (f"{plural(left, 'measurement')} left out: they need more free device memory.",)


def _neighbours(gpu: Gpu) -> tuple[str, ...]:
    """Return a note on other programs that use the GPU: they take bandwidth and time."""
    processes = gpu.telemetry.processes if gpu.telemetry else None
    neighbours = [process for process in processes or () if process.pid != os.getpid()]
    if not neighbours:
        return ()
    return (f"{plural(len(neighbours), 'other process', 'other processes')} used the GPU.",)

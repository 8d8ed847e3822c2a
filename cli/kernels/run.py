"""From the question to the answer: listed whole, or streamed line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.names import can_demangle
from gpuadvise.advisor.binaries.residency import Residencies
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural, quoted_path
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit, note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format
from gpuadvise.cli.kernels.gather import Gatherer
from gpuadvise.cli.kernels.progress import shown
from gpuadvise.cli.kernels.record import damage_record, entry_record, kernel_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.cli.blocks import Block
    from gpuadvise.cli.kernels.asked import Asked

_STREAMED = (Format.CSV, Format.NDJSON)


def run(asked: Asked) -> Exit:
    """Answer *asked*; raises BadInput or Unavailable."""
    choice = asked.choice()
    gatherer = Gatherer(asked, choice.device.capability if choice else None)
    if asked.output.format in _STREAMED and not asked.output.fields and asked.sort is None:
        return _streamed(asked, choice, gatherer)
    return emit(_answer(asked, choice, gatherer), asked.output)


def _streamed(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> Exit:
    from gpuadvise.cli.render import rows

    records = _limited(_records(asked, choice, gatherer), asked.limit)
    stream(rows.render(records, asked.output.format))
    _refuse_nothing(gatherer)
    note(*(choice.notes if choice else ()), *_notes(gatherer))
    return _exit(gatherer)


def _limited(records: Iterator[dict[str, Any]], limit: int | None) -> Iterator[dict[str, Any]]:
    from itertools import islice

    return islice(records, limit or None)


def _records(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> Iterator[dict[str, Any]]:
    if asked.entries_only:
        yield from map(entry_record, gatherer.entries())
        return
    residencies = _residencies(asked, choice)
    for kernel in gatherer.kernels():
        yield kernel_record(kernel, residencies.of(kernel))


def _residencies(asked: Asked, choice: Choice | None) -> Residencies:
    return Residencies(
        limits=choice.device.limits if choice else None,
        block=asked.block,
        dynamic_smem=asked.dynamic_smem,
    )


def _answer(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> Answer:
    from gpuadvise.cli.kernels.order import in_order

    records = list(shown(_records(asked, choice, gatherer)))
    _refuse_nothing(gatherer)
    if not asked.entries_only:
        records = in_order(records, asked.sort)

    def blocks() -> Sequence[Block]:
        from gpuadvise.cli.kernels.page import entries_page, kernels_page

        page = entries_page if asked.entries_only else kernels_page
        return page(asked, choice, records)

    listed = records[: asked.limit or None]
    return Answer(
        command="kernels",
        device=device_block(choice.device) if choice else None,
        input=_echo(asked),
        result={
            "kernels": None if asked.entries_only else listed,
            "entries": listed if asked.entries_only else None,
            "entry_count": gatherer.seen.entries,
            "damage": [damage_record(damage) for damage in gatherer.seen.damage],
        },
        rows=listed,
        blocks=blocks,
        notes=(*(choice.notes if choice else ()), *_notes(gatherer)),
        exit=_exit(gatherer),
    )


def _echo(asked: Asked) -> dict[str, Any]:
    return {
        "files": list(asked.files),
        **asked.device,
        "arch": [target.target for target in asked.targets],
        "filter": asked.pattern.pattern if asked.pattern else None,
        "block": asked.block,
        "dynamic_smem": asked.dynamic_smem,
        "list": asked.entries_only,
        "functions": asked.functions,
    }


def _refuse_nothing(gatherer: Gatherer) -> None:
    """Raise BadInput when no file holds any device code."""
    seen = gatherer.seen
    if seen.entries or seen.kernels:
        return
    names = and_list([quoted_path(path) for path in gatherer.asked.files], "or")
    if seen.damage:
        raise BadInput(f"{names} cannot be read. {seen.damage[0].message}")
    raise BadInput(f"There is no device code in {names}.")


def _notes(gatherer: Gatherer) -> list[str]:
    seen = gatherer.seen
    notes = [f"{_where(damage)}: {damage.message}" for damage in seen.damage[:3]]
    if len(seen.damage) > len(notes):
        notes.append(f"{plural(len(seen.damage) - 3, 'more part')} cannot be read.")
    if seen.kernels and not can_demangle():
        notes.append("Names stay mangled: install gpuadvise[binaries].")
    return notes


def _where(damage: Any) -> str:
    place = damage.place
    name = place.path if place.member is None else f"{place.path}!{place.member}"
    return name if place.offset is None else f"{name} at byte {place.offset:,}"


def _exit(gatherer: Gatherer) -> Exit:
    return Exit.UNAVAILABLE if gatherer.seen.damage else Exit.RAN

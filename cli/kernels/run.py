"""From the question to the answer: listed whole, or streamed line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import emit, note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format
from gpuadvise.cli.kernels.gather import Gatherer
from gpuadvise.cli.kernels.listing import entries_of, entry_listing, found_in, kernel_listing
from gpuadvise.cli.kernels.order import in_order
from gpuadvise.cli.kernels.progress import Progress
from gpuadvise.cli.kernels.record import ENTRY, KERNEL, damage_record
from gpuadvise.cli.kernels.remarks import notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.cli.kernels.asked import Asked
    from gpuadvise.cli.kernels.listing import Listing
    from gpuadvise.cli.render.form import Form

_STREAMED = (Format.CSV, Format.NDJSON)


def run(asked: Asked) -> Exit:
    """Answer *asked*; raises BadInput or Unavailable."""
    choice = asked.choice()
    streaming = asked.output.format in _STREAMED and not asked.output.fields
    gatherer = Gatherer(
        asked,
        choice.device.capability if choice else None,
        progress=Progress(streaming=streaming),
    )
    _refuse_rows(asked)
    if streaming:
        return _streamed(asked, choice, gatherer)
    return emit(_answer(asked, choice, gatherer), asked.output)


def _streamed(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> Exit:
    if asked.entries_only:
        lines = _lines(ENTRY, entries_of(gatherer), asked)
    else:
        found = found_in(asked, choice, gatherer)
        lines = _lines(KERNEL, in_order(list(found), asked.sort) if asked.sort else found, asked)
    stream(lines)
    note(*(choice.notes if choice else ()), *notes(asked, choice, gatherer))
    return _exit(gatherer)


def _lines(form: Form, listed: Iterable[object], asked: Asked) -> Iterator[str]:
    from itertools import islice

    return form.lines(islice(listed, asked.limit or None), asked.output.format)


def _answer(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> Answer:
    if asked.entries_only:
        listing = entry_listing(asked, gatherer)
    else:
        listing = kernel_listing(asked, choice, gatherer)
    name = "entries" if asked.entries_only else "kernels"
    # Only --get looks into records: making the JSON of each at once takes a fifth of the time.
    records = [*map(listing.form.record, listing.things)] if asked.output.fields else []
    answer = Answer(
        command="kernels",
        device=device_block(choice.device) if choice else None,
        input=_echo(asked),
        result={
            "kernels": None,
            "entries": None,
            name: records,
            "entry_count": gatherer.seen.entries,
            "damage": [damage_record(damage) for damage in gatherer.seen.damage],
            "driver_check": listing.checked.fields() if listing.checked else None,
        },
        blocks=listing.blocks,
        findings=listing.advised.objects() if listing.advised else (),
        not_evaluated=listing.advised.not_evaluated if listing.advised else (),
        notes=(*(choice.notes if choice else ()), *notes(asked, choice, gatherer)),
        documents={Format.JSON: lambda: _json(answer, name, listing)},
        exit=_exit(gatherer),
    )
    return answer


def _json(answer: Answer, name: str, listing: Listing) -> str:
    from gpuadvise.cli.render.json import render_with

    return render_with(answer, name, listing.form.texts(listing.things, Format.JSON))


def _refuse_rows(asked: Asked) -> None:
    """Raise BadInput when rows are asked of what has none."""
    for option, given in (("--advise", asked.advise), ("--driver-check", asked.driver_check)):
        if given and asked.output.format in _STREAMED:
            raise BadInput(
                f"{option} has no {asked.output.format} form.", hint="Use text, json or markdown."
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
        "advise": asked.advise,
        "driver_check": asked.driver_check,
    }


def _exit(gatherer: Gatherer) -> Exit:
    return Exit.UNAVAILABLE if gatherer.seen.damage else Exit.RAN

"""From the question to the answer: listed whole, or streamed line by line."""

from __future__ import annotations

import re
from collections import deque
from itertools import islice, tee
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.binaries.kernel_order import ListedKernel, in_order, keyed
from gpuadvise.advisor.binaries.model import Damage, Entry, InstructionMix, Kernel, TritonOptions
from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import inert, quoted
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.emit import note, stream
from gpuadvise.cli.exits import Exit, exit_of
from gpuadvise.cli.formats import Format
from gpuadvise.cli.kernels.gather import Gatherer
from gpuadvise.cli.kernels.text import READ, groups_page, notes, refuse_nothing, why_nothing
from gpuadvise.cli.progress import Progress, shown
from gpuadvise.cli.render.row_encoder import RowEncoder, RowFields, same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.kernel_counts import KernelCounts
    from gpuadvise.advisor.binaries.kernel_occupancy import Residencies, Residency
    from gpuadvise.advisor.binaries.tally import EntryTally
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.engines.engine import TaskEngine
    from gpuadvise.cli.blocks import Block
    from gpuadvise.cli.kernels.advice import KernelAdvice
    from gpuadvise.cli.kernels.driver_check import Checked
    from gpuadvise.cli.kernels.gate import KernelGate
    from gpuadvise.cli.kernels.request import KernelsRequest


_PLACE = ("file", "member", "section", "offset", "line")


def damage_record(damage: Damage) -> dict[str, Any]:
    """Return *damage* as JSON values."""
    return {"message": damage.message, **dict(zip(_PLACE, damage.place, strict=True))}


def _target(capability: Capability | None) -> tuple[str | None]:
    return (capability.target if capability else None,)


def _word(value: object) -> tuple[str | None]:
    return (None if value is None else str(value),)


def _banks(banks: tuple[tuple[int, int], ...] | None) -> tuple[dict[str, int] | None]:
    return (None if banks is None else {str(bank): size for bank, size in banks},)


def _mix(mix: InstructionMix | None) -> tuple[Any, ...]:
    if mix is None:
        return (None,) * len(InstructionMix._fields)
    loads, stores, *counts = mix
    return (*_banks(loads), *_banks(stores), *counts)


def _version(version: tuple[int, int] | None) -> tuple[str | None]:
    return ("{}.{}".format(*version) if version else None,)


def _resident(residency: Residency) -> tuple[Any, ...]:
    return tuple(named_fields(residency, _RESIDENCY).values())


_NO_TRITON = (None,) * len(TritonOptions._fields)
_RESIDENCY = (
    "block_threads block_from blocks_per_sm=occupancy.blocks_per_sm "
    "warps_per_sm=occupancy.warps_per_sm occupancy=occupancy.occupancy "
    "limiters=occupancy.limiters launchable=occupancy.launchable reason"
)

# ``barriers`` are those that a block holds, not the instructions that wait at them.
_MIX = tuple(
    "barrier_instructions" if name == "barriers" else name for name in InstructionMix._fields
)

# Of what advisor/binaries/kernel_order.py calls Found; bytes per thread or block, occupancy 0 to 1.
KERNEL = RowEncoder(
    (RowFields("kernel.name", ("name", "demangled"), lambda name: (name, demangle(name))),),
    (
        RowFields("kernel.capability", ("arch",), _target),
        *same("kernel.", "entry", "registers"),
    ),
    same("kernel.", "static_smem", "reserved_smem", "dynamic_smem"),
    (
        *same("kernel.", "stack", "stack_unbounded", "frame", "spill_stores", "spill_loads"),
        RowFields("kernel.spills_are", ("spills_are",), _word),
    ),
    (
        *same("kernel.", "max_threads", "max_block", "required_block"),
        *same("kernel.", "launched_block", "launched_dynamic_smem", "min_blocks"),
        RowFields("kernel.min_blocks_are", ("min_blocks_are",), _word),
        *same("kernel.", "register_cap", "reconfigures_registers", "cluster", "max_cluster_rank"),
    ),
    (
        *same("kernel.", "barriers", "param_bytes"),
        RowFields("kernel.constant_banks", ("constant_banks",), _banks),
    ),
    same("kernel.", "code_bytes"),
    same("kernel.", "instructions", "fp64_instructions", "linked", "debug", "toolkit"),
    (RowFields("residency", tuple(named_fields(None, _RESIDENCY)), _resident),),
    (
        RowFields("kernel.source", ("source",), _word),
        RowFields("kernel.place", _PLACE, tuple),
        RowFields("kernel.triton", TritonOptions._fields, lambda known: known or _NO_TRITON),
        # What came later stands last: scripts count columns.
        RowFields("kernel.mix", _MIX, _mix),
    ),
)

# Of one entry; sizes in bytes.
ENTRY = RowEncoder(
    (
        RowFields("content", ("content",), _word),
        RowFields("capability", ("arch",), _target),
        RowFields("compression", ("compression",), _word),
    ),
    same("", "size", "unpacked_size"),
    (
        RowFields("ptx_version", ("ptx_version",), _version),
        *same("", "identifier", "options", "debug", "link_input"),
    ),
    same("", "module"),
    (RowFields("place", _PLACE, tuple),),
)


_QUOTED = re.compile(r'"[^"\n]*"')
_SCREEN = 40


class Listing(NamedTuple):
    """What is listed in which form, its page for people, and what the rules say about it."""

    form: RowEncoder
    items: Sequence[object]
    blocks: Callable[[], Sequence[Block]]
    advised: KernelAdvice | None = None
    checked: Checked | None = None
    texts: Iterable[str] | None = None  # as JSON, where nothing but that is asked for

    def json(self) -> Iterable[str]:
        """Return the objects of the JSON answer."""
        return self.form.texts(self.items, Format.JSON) if self.texts is None else self.texts


def entries_of(gatherer: Gatherer, *, tally: bool = False) -> Iterator[Entry | EntryTally]:
    """Yield the entries asked for; raises BadInput when there is nothing in the files."""
    yield from gatherer.entries(tally=tally)
    refuse_nothing(gatherer)


def found_in(
    request: KernelsRequest, choice: Choice | None, gatherer: Gatherer, gate: KernelGate
) -> Iterator[ListedKernel]:
    """Yield the kernels asked for with their occupancy, seen by *gate*; raises as ``entries_of``."""
    residencies, gated = _residencies(request, choice), gate.set
    for kernel in gatherer.kernels():
        listed = ListedKernel(kernel, residencies.of(kernel))
        if gated:
            gate.see(listed)
        yield listed
    refuse_nothing(gatherer)


def _residencies(request: KernelsRequest, choice: Choice | None) -> Residencies:
    from gpuadvise.advisor.binaries.kernel_occupancy import Residencies  # listings need none

    return Residencies(
        limits=choice.device.limits if choice else None,
        block=request.block,
        dynamic_smem=request.dynamic_smem,
    )


def entry_listing(request: KernelsRequest, gatherer: Gatherer) -> Listing:
    """Return the entries that were asked for."""
    people = request.output.format in READ and not request.output.fields
    if _only_json(request):
        return _texts(ENTRY, ((0, entry) for entry in entries_of(gatherer)), request.limit)
    tally = people and not request.limit
    entries = list(entries_of(gatherer, tally=tally))[: request.limit or None]

    def blocks() -> Sequence[Block]:
        from gpuadvise.cli.kernels.text import entries_page

        return entries_page(request, entries)

    return Listing(ENTRY, entries, blocks)


def kernel_listing(
    request: KernelsRequest, choice: Choice | None, gatherer: Gatherer, gate: KernelGate
) -> Listing:
    """Return the kernels that were asked for, in order, with the advice and checks asked for."""
    gathered = found_in(request, choice, gatherer, gate)
    if _only_json(request):
        return _texts(KERNEL, keyed(gathered, request.sort), request.limit)
    # A person reads one screen; making the fields of all kernels would double the time.
    screen = request.output.format in READ and not request.output.fields
    limit = _SCREEN if screen and request.limit is None else request.limit
    # Whether more than the first kernels is looked at, or another order is asked for.
    all_of_them = request.sort or request.pattern or request.advise or request.driver_check
    if screen and limit and not (gate.set or all_of_them):
        return _screen(request, choice, gatherer, limit)
    kernels = in_order(list(gathered), request.sort)
    listed = kernels[: limit or None]
    advice, check = None, None
    if request.advise:
        from gpuadvise.cli.kernels.advice import advised

        advice = advised(shown(kernels), choice.device if choice else None)
    if request.driver_check:
        from gpuadvise.cli.kernels.driver_check import driver_check

        check = driver_check(kernels, choice, request.dynamic_smem)

    def blocks() -> Sequence[Block]:
        from gpuadvise.advisor.binaries.kernel_counts import counts_of

        more = [block for part in (advice, check) if part for block in part.blocks()]
        return [*_page(request, choice, gatherer, counts_of(kernels), listed), *more]

    return Listing(KERNEL, listed, blocks, advice, check)


def _screen(
    request: KernelsRequest, choice: Choice | None, gatherer: Gatherer, limit: int
) -> Listing:
    """Return the first kernels, all others only counted."""
    from gpuadvise.advisor.binaries.first_kernels import Screen

    screen = Screen(limit, _residencies(request, choice), functions=request.functions)
    for item in gatherer.tables():
        if isinstance(item, Kernel):
            screen.see(item)
        else:
            screen.see_table(item)
    refuse_nothing(gatherer)
    listed = screen.first()

    def blocks() -> Sequence[Block]:
        return _page(request, choice, gatherer, screen.counts, listed)

    return Listing(KERNEL, listed, blocks)


def _page(
    request: KernelsRequest,
    choice: Choice | None,
    gatherer: Gatherer,
    counts: KernelCounts,
    listed: list[ListedKernel],
) -> list[Block]:
    from gpuadvise.cli.blocks import Line, Tone
    from gpuadvise.cli.kernels.text import kernels_page

    if not counts.kernels:
        return [Line(why_nothing(request, choice, gatherer.gathered), Tone.STRONG)]
    return kernels_page(choice, counts, list(map(KERNEL.record, listed)))


def group_listing(
    request: KernelsRequest, choice: Choice | None, gatherer: Gatherer, gate: KernelGate
) -> Listing:
    """Return the kernels that were asked for, counted by what ``--group-by`` names."""
    from gpuadvise.advisor.binaries.kernel_groups import KernelGroup, grouped

    by = request.group_by or "file"
    groups = grouped(found_in(request, choice, gatherer, gate), by, request.sort)
    screen = request.output.format in READ and not request.output.fields
    limit = _SCREEN if screen and request.limit is None else request.limit
    listed = groups[: limit or None]
    form = RowEncoder(same("", *KernelGroup.__slots__))
    return Listing(form, listed, lambda: groups_page(groups, listed, by))


def _only_json(request: KernelsRequest) -> bool:
    """Return whether each row can be forgotten once its text is made."""
    judged = request.advise or request.driver_check
    return request.output.format == Format.JSON and not (request.output.fields or judged)


def _texts(form: RowEncoder, rows: Iterable[tuple[Any, Any]], limit: int | None) -> Listing:
    """Return *rows* as JSON in the order of their keys, all of them read and none of them kept."""
    texts = _sorted_texts(form, rows, Format.JSON)
    return Listing(form, (), lambda: (), texts=islice(texts, limit or None))


def _sorted_texts(form: RowEncoder, rows: Iterable[tuple[Any, Any]], name: str) -> Iterator[str]:
    from gpuadvise.cli.render.sorted_rows import sorted_rows

    keys, items = tee(rows)
    texts = form.texts((item for _, item in items), name)
    return sorted_rows(zip((key for key, _ in keys), texts, strict=True))


_STREAMED = (Format.CSV, Format.NDJSON)


def run(request: KernelsRequest, engine: TaskEngine | None = None) -> Answer | Exit:
    """Answer *request*, its files read by *engine*; once rows were printed, with the exit code. Raises BadInput or Unavailable."""
    choice = request.choice()
    rows = request.output.format in _STREAMED and not request.advise
    streaming = rows and not request.output.fields
    gatherer = Gatherer(
        request,
        choice.device.capability if choice else None,
        progress=Progress(streaming=streaming),
        engine=engine,
    )
    _refuse_rows(request)
    gate = request.gate()
    if streaming:
        return _streamed(request, choice, gatherer, gate)
    return _answer(request, choice, gatherer, gate)


def _streamed(
    request: KernelsRequest, choice: Choice | None, gatherer: Gatherer, gate: KernelGate
) -> Exit:
    if request.entries_only:
        stream(_lines(ENTRY, entries_of(gatherer), request))
    elif request.group_by:
        listing = group_listing(request, choice, gatherer, gate)
        stream(_lines(listing.form, listing.items, request))
    else:
        kernels = found_in(request, choice, gatherer, gate)
        stream(
            _sorted_lines(kernels, request) if request.sort else _lines(KERNEL, kernels, request)
        )
        if gate.set:  # --limit hides rows, not from the gate
            deque(kernels, maxlen=0)
    failed = _failures(request, choice, gatherer, gate)
    said = (*notes(request, choice, gatherer), *gate.notes())
    note(*(choice.notes if choice else ()), *said, *failed)
    return _exit(gatherer, gate, failed)


def _failures(
    request: KernelsRequest, choice: Choice | None, gatherer: Gatherer, gate: KernelGate
) -> list[str]:
    seen = gatherer.gathered
    unlisted = () if request.pattern else seen.unlisted  # --filter may be about one file of several
    return gate.failures(None if seen.listed else why_nothing(request, choice, seen), unlisted)


def _lines(form: RowEncoder, listed: Iterable[object], request: KernelsRequest) -> Iterator[str]:
    return form.lines(islice(listed, request.limit or None), request.output.format)


def _sorted_lines(kernels: Iterable[ListedKernel], request: KernelsRequest) -> Iterator[str]:
    name = request.output.format
    texts = _sorted_texts(KERNEL, keyed(kernels, request.sort), name)
    if name == Format.CSV:
        yield ",".join(KERNEL.names) + "\n"
    yield from islice(texts, request.limit or None)


def _answer(
    request: KernelsRequest, choice: Choice | None, gatherer: Gatherer, gate: KernelGate
) -> Answer:
    if request.entries_only:
        listing = entry_listing(request, gatherer)
    elif request.group_by:
        listing = group_listing(request, choice, gatherer, gate)
    else:
        listing = kernel_listing(request, choice, gatherer, gate)
    failed = _failures(request, choice, gatherer, gate)
    name = "entries" if request.entries_only else "groups" if request.group_by else "kernels"
    # Only --get looks into records: making the JSON of each at once takes a fifth of the time.
    records = [*map(listing.form.record, listing.items)] if request.output.fields else []
    answer = Answer(
        command="kernels",
        device=device_block(choice.device) if choice else None,
        input=_echo(request),
        result={
            "kernels": None,
            "entries": None,
            "groups": None,
            name: records,
            "entry_count": gatherer.gathered.entries,
            "damage": [damage_record(damage) for damage in gatherer.gathered.damage],
            "not_judged": not_judged.records(_not_judged(gatherer, gate)),
            "driver_check": listing.checked.fields() if listing.checked else None,
        },
        blocks=listing.blocks,
        findings=listing.advised.objects() if listing.advised else (),
        not_evaluated=listing.advised.not_evaluated if listing.advised else (),
        notes=(*(choice.notes if choice else ()), *notes(request, choice, gatherer), *gate.notes()),
        rows=listing.advised.rows() if listing.advised else None,
        columns=listing.advised.columns if listing.advised else tuple,
        documents={
            Format.JSON: lambda: _json(answer, name, listing),
            **(listing.advised.documents() if listing.advised else {}),
        },
        failed=failed,
        exit=_exit(gatherer, gate, failed),
    )
    return answer


def _json(answer: Answer, name: str, listing: Listing) -> Iterator[str]:
    from gpuadvise.cli.render.json import render_with

    return render_with(answer, name, listing.json())


def _refuse_rows(request: KernelsRequest) -> None:
    """Raise BadInput when rows or groups are asked of what has none."""
    if request.group_by and (request.entries_only or request.advise or request.driver_check):
        raise BadInput("--group-by counts kernels: it has no --list, --advise or --driver-check.")
    if request.driver_check and request.output.format in _STREAMED:
        raise BadInput(
            f"--driver-check has no {request.output.format} form.",
            hint="Use text, json, markdown or html.",
        )


def _echo(request: KernelsRequest) -> dict[str, Any]:
    asked = "list=entries_only functions group_by advise driver_check"
    gates = "fail_under fail_on_spills max_regs"
    return {
        "files": list(request.files),
        **request.device.asked(),
        "arch": [target.target for target in request.targets],
        "filter": request.pattern.pattern if request.pattern else None,
        **named_fields(request, f"block dynamic_smem {asked} {gates}"),
    }


def _not_judged(gatherer: Gatherer, gate: KernelGate) -> list[not_judged.NotJudged]:
    left = not_judged.of_damage(gatherer.gathered.damage)
    # A damaged cell of registers names its kernel.
    told = {name for each in left for name in _QUOTED.findall(each.reason)}
    names = [name for name in gate.without_registers if quoted(name) not in told]
    return left + [
        not_judged.NotJudged(path=inert(name), reason="Its registers are not known.")
        for name in (names if gate.set else ())
    ]


def _exit(gatherer: Gatherer, gate: KernelGate, failed: Sequence[str]) -> Exit:
    unjudged = gate.set and gate.without_registers
    return exit_of(failed, in_part=gatherer.gathered.damage or unjudged)

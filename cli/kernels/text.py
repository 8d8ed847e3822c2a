"""The lists of kernels, entries and groups as people read them."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.kernel_counts import LOW, KernelCounts
from gpuadvise.advisor.binaries.model import Content, Entry, Source
from gpuadvise.advisor.binaries.names import can_demangle
from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural, quoted_path
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.advisor.short_names import shortened
from gpuadvise.cli.blocks import (
    Block,
    Cell,
    Column,
    Line,
    Table,
    Tone,
    header,
    known,
    left_out,
    table,
)
from gpuadvise.cli.damage import damage_notes, unreadable
from gpuadvise.cli.devices import device_line
from gpuadvise.cli.formats import Format
from gpuadvise.cli.render import kernel_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.kernel_groups import KernelGroup
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.cli.kernels.gather import GatheredItems, Gatherer
    from gpuadvise.cli.kernels.request import KernelsRequest


Record = dict[str, Any]

_MOST_TARGETS = 12
_MOST_PARTS = 20  # of a path
_KERNEL_COLUMNS = header(
    ">occupancy", "limited by", ">regs", ">smem", ">stack", ">spills", ">block", "arch",
    Column("kernel", below=True),
)  # fmt: skip
_LIMITERS = {"shared_memory": "shared memory"}


def kernels_page(choice: Choice | None, counts: KernelCounts, listed: list[Record]) -> list[Block]:
    """Return the summary of all, the *listed* kernels, and how to read them."""
    basis = "Occupancy of each kernel on the target it was built for."
    if choice:
        basis = f"Occupancy on {device_line(choice.device)}, of the code that it would load."
    blocks: list[Block] = [Line(_summary(counts), Tone.STRONG), Line(basis)]
    if listed:
        blocks.append(_table(listed))
    blocks += [Line(text, Tone.FAINT) for text in _remarks(listed)]
    hidden = counts.kernels - len(listed)
    return [*blocks, *left_out(hidden, "kernel", "--limit 0 shows all, --filter some")]


def _table(listed: list[Record]) -> Table:
    """Return the kernels as rows, with Triton's options, or their file where there are several."""
    several = len({record["file"] for record in listed}) > 1
    places = [_place(record, several) for record in listed]
    last = _last_column(listed, places)
    columns: tuple[Column, ...] = _KERNEL_COLUMNS
    if last:
        columns = (*columns, Column(last[0]))
    ends = [(Cell(text),) for text in last[1]] if last else [()] * len(listed)
    rows = [(*_kernel_row(record), *end) for record, end in zip(listed, ends, strict=True)]
    left = kernel_names.room(columns, rows)
    if left is not None and left < _WIDE_NAME:
        kept = [at for at, column in enumerate(columns) if not _says_nothing(column, at, rows)]
        columns = tuple(columns[at] for at in kept)
        rows = [tuple(row[at] for at in kept) for row in rows]
        left = kernel_names.room(columns, rows)
    names = [record["demangled"] or record["name"] for record in listed]
    at = [column.below for column in columns].index(True)

    def named(longest: int) -> tuple[tuple[Cell, ...], ...]:
        short = map(Cell, shortened(names, longest))
        cells = ((*row[:at], name, *row[at + 1 :]) for row, name in zip(rows, short, strict=True))
        return _folded(cells, at)

    longest = kernel_names.fitting(lambda most: [row[at].text for row in named(most)], left)
    return Table(columns, named(longest))


# Characters of a name beside which no column has to go.
_WIDE_NAME = 40


def _says_nothing(column: Column, at: int, rows: Sequence[tuple[Cell, ...]]) -> bool:
    """Whether *column* says of every kernel that it needs none, or the one target of the headline."""
    texts = {row[at].text for row in rows}
    return (column.title in ("stack", "spills") and texts == {"0"}) or (
        column.title == "arch" and len(texts) == 1
    )


def _last_column(listed: list[Record], places: list[str]) -> tuple[str, list[str]] | None:
    """Return the title and the cells of the column that tells kernels of one name apart."""
    files = _short(places)
    if any(record["num_warps"] for record in listed):
        cells = zip(listed, places, strict=True)
        mixed = any(record["num_warps"] is None for record in listed)
        title = "Triton or file" if mixed else "Triton"
        return title, [_candidate(record) or files[place] for record, place in cells]
    return ("file", [files[place] for place in places]) if len(files) > 1 else None


def _candidate(record: Record) -> str:
    """Return what tells one candidate of a Triton kernel from the next; nothing of another kernel."""
    if record["num_warps"] is None:
        return ""
    parts = [plural(record["num_warps"], "warp")]
    if record["num_stages"] is not None:
        parts.append(plural(record["num_stages"], "stage"))
    if record["num_ctas"] > 1:
        parts.append(f"{record['num_ctas']} CTAs")
    if record["maxnreg"] is not None:
        parts.append(f"maxnreg {record['maxnreg']}")
    return ", ".join(parts)


def _folded(rows: Iterable[tuple[Cell, ...]], name: int) -> tuple[tuple[Cell, ...], ...]:
    """Return *rows*, those that are the same in every column as one, with how many there are.

    *name* is the place of the kernel's name.
    """
    return tuple(
        row
        if count == 1
        else (*row[:name], Cell(f"{row[name].text} (x {count:,})"), *row[name + 1 :])
        for row, count in Counter(rows).items()
    )


def _place(record: Record, several: bool) -> str:
    """Return the path of the kernel's file, or of the member of a wheel within it."""
    if record["member"] is None:
        return str(record["file"])
    return f"{record['file']}/{record['member']}" if several else str(record["member"])


def _short(places: list[str]) -> dict[str, str]:
    """Return each of *places* by the fewest of its last parts that tell all of them apart."""
    names = {place: place.rsplit("/", 1)[-1] for place in places}
    for parts in range(2, _MOST_PARTS):
        if len(set(names.values())) == len(names):
            break
        names = {place: "/".join(place.split("/")[-parts:]) for place in names}
    return names


def _summary(counts: KernelCounts) -> str:
    text = plural(counts.kernels, "kernel")
    if 0 < len(counts.targets) <= _MOST_TARGETS:
        text += f" for {and_list([target.target for target in sorted(counts.targets)])}"
    elif counts.targets:
        text += f" for {len(counts.targets)} targets"
    if counts.kernels and counts.ptx == counts.kernels:
        text += ", all of them PTX"
    parts = [f"{counts.stuck:,} cannot start"] if counts.stuck else []
    if counts.spills_known:
        verb = "spills" if counts.spilling <= 1 else "spill"
        parts.append(f"{_some(counts.spilling)} {verb} registers")
    if counts.occupied:
        verb = "is" if counts.low <= 1 else "are"
        parts.append(f"{_some(counts.low)} {verb} below {show_share(LOW)} occupancy")
    return f"{text}: {and_list(parts)}." if parts else f"{text}."


def _some(count: int) -> str:
    return f"{count:,}" if count else "none"


def _kernel_row(record: Record) -> tuple[Cell, ...]:
    """Return the cells of a kernel, with an empty one where its name goes."""
    target: str = record["arch"] or "?"
    shared: int | None = record["static_smem"]
    if shared is not None:  # dynamic memory where the launch is known
        shared += record["launched_dynamic_smem"] or 0
    return (
        _occupancy(record),
        Cell(", ".join(_LIMITERS.get(name, name) for name in record["limiters"] or ())),
        _number(record["registers"]),
        _number(shared),
        Cell("unbounded", Tone.POOR) if record["stack_unbounded"] else _number(record["stack"]),
        _spilled(record),
        _block(record),
        Cell(target.replace("sm_", "compute_") if record["source"] == Source.PTX else target),
        Cell(""),
    )


def _occupancy(record: Record) -> Cell:
    if record["launchable"] is False:
        return Cell("cannot start", Tone.BAD)
    return _share(record["occupancy"])


def _share(share: float | None) -> Cell:
    if share is None:
        return Cell("-", Tone.FAINT)
    return Cell(show_share(share), Tone.POOR if share < LOW else Tone.GOOD)


def _poor_where(count: int, bound: str = "") -> Cell:
    return Cell(f"{bound}{count:,}", Tone.POOR if count else Tone.PLAIN)


def _number(value: int | None) -> Cell:
    return Cell("-", Tone.FAINT) if value is None else Cell(f"{value:,}")


def _spilled(record: Record) -> Cell:
    if record["spill_stores"] is None:
        return Cell("-", Tone.FAINT)
    bound = "≤" if record["spills_are"] == "upper bound" else ""
    return _poor_where(record["spill_stores"] + (record["spill_loads"] or 0), bound)


def _block(record: Record) -> Cell:
    from gpuadvise.advisor.binaries.kernel_occupancy import BlockFrom

    if record["block_threads"] is None:
        return Cell("-", Tone.FAINT)
    mark = "*" if record["block_from"] == BlockFrom.BEST else ""
    return Cell(f"{mark}{record['block_threads']:,}")


def _remarks(records: list[Record]) -> list[str]:
    from gpuadvise.advisor.binaries.kernel_occupancy import BlockFrom

    remarks = []
    if any(record["block_from"] == BlockFrom.BEST for record in records):
        remarks.append(
            "* No launch bounds: the block that keeps most threads resident; give --block."
        )
    if any(record["spills_are"] == "upper bound" for record in records):
        remarks.append("≤ An upper bound: the file does not tell every spill from local arrays.")
    if any(r["dynamic_smem"] and r["launched_dynamic_smem"] is None for r in records):
        remarks.append("Dynamic shared memory is not in the file; give --dynamic-smem.")
    reasons = dict.fromkeys(record["reason"] for record in records if record["reason"])
    remarks += [f"No occupancy: {reason.rstrip('.')}." for reason in list(reasons)[:3]]
    return remarks


Key = tuple[str, str, str, str]

_IMAGES = (Content.SASS, Content.STUB)
# Looked up for every entry, and only then put into words.
_KIND = attrgetter(
    "content", "capability", "compression", "place.path", "place.member", "place.section"
)


def entries_page(request: KernelsRequest, entries: Iterable[Entry | EntryTally]) -> list[Block]:
    """Return the entries, those of one kind counted together."""
    counts: Counter[Key] = Counter()
    sizes: Counter[Key] = Counter()
    for (content, target, compression, *place), (count, size) in _kinds(entries).items():
        where = " ".join(part for part in place[len(request.files) == 1 :] if part)
        key = (content.value, _entry_target(content, target), compression.value, where)
        counts[key] += count
        sizes[key] += size
    total = f"{plural(counts.total(), 'entry', 'entries')}, {show_bytes(sizes.total())}."
    if not counts:
        return [Line(total, Tone.STRONG)]
    listed = table(
        sorted(counts, key=lambda key: (key[3], key[0], _target_order(key[1]))),
        (">count", lambda key: f"{counts[key]:,}"),
        ("content", lambda key: key[0]),
        ("arch", lambda key: key[1]),
        ("packed", lambda key: key[2]),
        (">bytes", lambda key: show_bytes(sizes[key])),
        ("where", lambda key: key[3]),
    )
    return [Line(total, Tone.STRONG), listed]


def _kinds(entries: Iterable[Entry | EntryTally]) -> dict[Any, list[int]]:
    """Return how many there are of each kind in each place, and their bytes together."""
    kinds: dict[Any, list[int]] = {}
    for kernel in entries:
        entry, count, size = kernel if isinstance(kernel, EntryTally) else (kernel, 1, kernel.size)
        kind = kinds.setdefault(_KIND(entry), [0, 0])
        kind[0] += count
        kind[1] += size
    return kinds


def _entry_target(content: Content, capability: Capability | None) -> str:
    target = capability.target if capability else "-"
    return target if content in _IMAGES else target.replace("sm_", "compute_")


def _target_order(target: str) -> tuple[int, str]:
    digits = "".join(char for char in target if char.isdigit())
    return int(digits or 0), target


# Formats that a person reads: they say in the answer why a list is empty.
READ = (Format.TEXT, Format.MARKDOWN, Format.HTML)


def why_nothing(request: KernelsRequest, choice: Choice | None, seen: GatheredItems) -> str:
    """Return why there is no kernel to list, as far as the question tells."""
    if left_out := _left_out(request, choice, seen):
        return " ".join(left_out)
    if seen.functions:
        functions = plural(seen.functions, "device function")
        return f"No kernel, but {functions}: --functions lists them."
    if seen.damage:
        return "No kernel could be read."
    if seen.selected:
        return (
            f"The code{f' that {choice.device.name} would load' if choice else ''} has no kernel."
        )
    if seen.unloaded and choice:
        return f"{choice.device.name} would load none of this code: gpuadvise compat says why."
    if seen.untargeted:
        targets = _targets(_entry_target(*entry) for entry in seen.untargeted)
        return f"--arch leaves none of this code, which is for {targets}."
    return "There is no code with kernels to list; --list shows what there is."


def _left_out(request: KernelsRequest, choice: Choice | None, seen: GatheredItems) -> list[str]:
    """Return which option leaves which kernels out, in sentences."""
    reasons = []
    if seen.unmatched:
        reasons.append(f"--filter leaves none of {plural(seen.unmatched, 'kernel')}.")
    if seen.unfit and choice:
        named = [f"--{name}" for name, value in request.device.asked().items() if value]
        targets = _targets(target.target for target in seen.unfit)
        reasons.append(
            f"{and_list(named) or choice.device.name} leaves none of "
            f"{plural(seen.unfit.total(), 'kernel')}: {choice.device.capability} cannot run {targets}."
        )
    if seen.unasked:
        targets = _targets(target.target if target else "no target" for target in seen.unasked)
        count = seen.unasked.total()
        reasons.append(f"--arch leaves none of {plural(count, 'kernel')}, built for {targets}.")
    return reasons


def _targets(names: Iterable[str]) -> str:
    return and_list(sorted(names, key=_target_order))


def refuse_nothing(gatherer: Gatherer) -> None:
    """Raise BadInput when no file holds any device code."""
    seen = gatherer.gathered
    if seen.entries or seen.kernels:
        return
    names = and_list([quoted_path(path) for path in gatherer.request.files], "or")
    if seen.damage:
        raise unreadable(names, seen.damage)
    raise BadInput(f"There is no device code in {names}.")


def notes(request: KernelsRequest, choice: Choice | None, gatherer: Gatherer) -> list[str]:
    """Return what to say on stderr beside the answer."""
    seen = gatherer.gathered
    said = [*seen.notes, *damage_notes(seen.damage)]
    said += [f"There is no device code in {quoted_path(path)}." for path in seen.empty]
    if not (seen.listed or request.entries_only or request.output.format in READ):
        said.append(why_nothing(request, choice, seen))
    if seen.kernels and not can_demangle():
        said.append("Names stay mangled: the package pycxxfilt cannot be loaded.")
    return said


def groups_page(groups: list[KernelGroup], listed: list[KernelGroup], by: str) -> list[Block]:
    """Return the *listed* groups as a table, and what all hold together."""
    kernels = sum(group.kernels for group in groups)
    sizes = [group.code_bytes for group in groups]
    code = "" if None in sizes else f", {show_bytes(sum(size or 0 for size in sizes))} of code"
    head = f"{plural(kernels, 'kernel')} in {plural(len(groups), 'group')}{code}."
    blocks: list[Block] = [Line(head, Tone.STRONG)]
    if listed:
        shared = _shared_folder(listed) if by == "file" else ""
        shown = table(
            listed,
            (">kernels", lambda group: f"{group.kernels:,}"),
            (">code", lambda group: known(group.code_bytes, show_bytes)),
            (">spilling", lambda group: _poor_where(group.spilling)),
            (">regs", lambda group: known(group.most_registers, "{:,}".format)),
            (">lowest occupancy", lambda group: _share(group.lowest_occupancy)),
            (">below 50 %", lambda group: f"{group.below_half:,}"),
            (Column(by, below=True), lambda group: group.group.removeprefix(shared)),
        )
        blocks.append(shown)
    return [*blocks, *left_out(len(groups) - len(listed), "group", "--limit 0 shows all")]


def _shared_folder(groups: list[KernelGroup]) -> str:
    """Return the folder that all files are in, with its last slash; nothing for files here."""
    if len(groups) < 2:
        return ""
    folders = [group.group.partition("!")[0].split("/")[:-1] for group in groups]
    shared = [
        names[0] for names in takewhile(lambda own: len({*own}) == 1, zip(*folders, strict=False))
    ]
    return "/".join(shared) + "/" if shared else ""

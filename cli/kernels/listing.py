"""What is listed whole: entries or kernels, and the page of them for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.cli.kernels.order import Found, in_order
from gpuadvise.cli.kernels.progress import shown
from gpuadvise.cli.kernels.record import ENTRY, KERNEL
from gpuadvise.cli.kernels.remarks import READ, refuse_nothing, why_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.binaries.tally import EntryTally
    from gpuadvise.cli.blocks import Block
    from gpuadvise.cli.kernels.advice import Advised
    from gpuadvise.cli.kernels.asked import Asked
    from gpuadvise.cli.kernels.driver_check import Checked
    from gpuadvise.cli.kernels.gather import Gatherer
    from gpuadvise.cli.render.form import Form

_SCREEN = 40


class Listing(NamedTuple):
    """What is listed in which form, its page for people, and what the rules say about it."""

    form: Form
    things: Sequence[object]
    blocks: Callable[[], Sequence[Block]]
    advised: Advised | None = None
    checked: Checked | None = None


def entries_of(gatherer: Gatherer, *, counted: bool = False) -> Iterator[Entry | EntryTally]:
    """Yield the entries asked for; raises BadInput when there is nothing in the files."""
    yield from gatherer.entries(counted=counted)
    refuse_nothing(gatherer)


def found_in(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> Iterator[Found]:
    """Yield the kernels asked for with their occupancy; raises as ``entries_of`` does."""
    from gpuadvise.advisor.binaries.kernel_occupancy import Residencies

    residencies = Residencies(
        limits=choice.device.limits if choice else None,
        block=asked.block,
        dynamic_smem=asked.dynamic_smem,
    )
    for kernel in gatherer.kernels():
        yield Found(kernel, residencies.of(kernel))
    refuse_nothing(gatherer)


def entry_listing(asked: Asked, gatherer: Gatherer) -> Listing:
    """Return the entries that were asked for."""
    people = asked.output.format in READ and not asked.output.fields
    counted = people and not asked.limit
    entries = list(entries_of(gatherer, counted=counted))[: asked.limit or None]

    def blocks() -> Sequence[Block]:
        from gpuadvise.cli.kernels.entries_page import entries_page

        return entries_page(asked, entries)

    return Listing(ENTRY, entries, blocks)


def kernel_listing(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> Listing:
    """Return the kernels that were asked for, in order, with the advice and checks asked for."""
    found = in_order(list(found_in(asked, choice, gatherer)), asked.sort)
    # A person reads one screen; making the fields of all kernels would double the time.
    screen = asked.output.format in READ and not asked.output.fields
    limit = _SCREEN if screen and asked.limit is None else asked.limit
    listed = found[: limit or None]
    advice = _advised(found, choice) if asked.advise else None
    check = _checked(asked, found, choice) if asked.driver_check else None

    def blocks() -> Sequence[Block]:
        from gpuadvise.cli.blocks import Line, Tone
        from gpuadvise.cli.kernels.page import kernels_page

        more = [block for part in (advice, check) if part for block in part.blocks()]
        if not found:
            return [Line(why_nothing(asked, choice, gatherer.seen), Tone.STRONG), *more]
        return [*kernels_page(choice, found, list(map(KERNEL.record, listed))), *more]

    return Listing(KERNEL, listed, blocks, advice, check)


def _advised(found: list[Found], choice: Choice | None) -> Advised:
    from gpuadvise.cli.kernels.advice import advised

    return advised(shown(found), choice.device if choice else None)


def _checked(asked: Asked, found: list[Found], choice: Choice | None) -> Checked:
    from gpuadvise.cli.kernels.driver_check import driver_check

    return driver_check(found, choice, asked.dynamic_smem)

"""What is said beside a list of kernels, and instead of an empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.names import can_demangle
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, plural, quoted_path
from gpuadvise.cli.damage import damage_notes, unreadable
from gpuadvise.cli.formats import Format

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.cli.kernels.asked import Asked
    from gpuadvise.cli.kernels.gather import Gatherer, Seen

# Formats that a person reads: they say in the answer why a list is empty.
READ = (Format.TEXT, Format.MARKDOWN)


def why_nothing(asked: Asked, choice: Choice | None, seen: Seen) -> str:
    """Return why there is no kernel to list, as far as the question tells."""
    device = {f"--{name}": value for name, value in asked.device.items()}
    given = {**device, "--arch": asked.targets, "--filter": asked.pattern}
    options = [name for name, value in given.items() if value]
    if seen.kernels and options:
        verb = "leaves" if len(options) == 1 else "leave"
        return f"{and_list(options)} {verb} none of {plural(seen.kernels, 'kernel')}."
    if seen.kernels:
        return f"No kernel, but {plural(seen.kernels, 'device function')}: --functions lists them."
    if seen.damage:
        return "No kernel could be read."
    if choice:
        return f"{choice.device.name} would load none of this code: gpuadvise compat says why."
    return "There is no code with kernels to list; --list shows what there is."


def refuse_nothing(gatherer: Gatherer) -> None:
    """Raise BadInput when no file holds any device code."""
    seen = gatherer.seen
    if seen.entries or seen.kernels:
        return
    names = and_list([quoted_path(path) for path in gatherer.asked.files], "or")
    if seen.damage:
        raise unreadable(names, seen.damage)
    raise BadInput(f"There is no device code in {names}.")


def notes(asked: Asked, choice: Choice | None, gatherer: Gatherer) -> list[str]:
    """Return what to say on stderr beside the answer."""
    seen = gatherer.seen
    said = [*damage_notes(seen.damage)]
    if not (seen.listed or asked.entries_only or asked.output.format in READ):
        said.append(why_nothing(asked, choice, seen))
    if seen.kernels and not can_demangle():
        said.append("Names stay mangled: install gpuadvise[binaries].")
    return said

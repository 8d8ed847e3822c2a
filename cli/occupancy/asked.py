"""What the command line asks for, before anything is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list
from gpuadvise.cli.args import fails_under, share
from gpuadvise.cli.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.cli.exits import Exit
    from gpuadvise.cli.formats import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of one call; texts are as the user wrote them."""

    texts: Mapping[str, str | None]
    device: Mapping[str, str | None]
    sweep: str | None
    plot: bool
    all_cc: bool
    batch: str | None
    fail_under: str | None
    driver_check: bool
    output: Output

    def check(self) -> None:
        """Refuse options that do not go together; raises BadInput."""
        single = {"--driver-check": self.driver_check, "--plot": self.plot}
        many = {
            "--sweep": self.sweep is not None,
            "--all-cc": self.all_cc,
            "--batch": self.batch is not None,
        }
        wanted = [name for name, given in many.items() if given]
        if len(wanted) > 1:
            raise BadInput(f"{and_list(wanted)} do not go together.")
        for name, given in single.items():
            if given and wanted and (name, wanted[0]) != ("--plot", "--sweep"):
                raise BadInput(f"{name} and {wanted[0]} do not go together.")
        self._check_one_answer(wanted)

    def _check_one_answer(self, wanted: list[str]) -> None:
        if self.plot and self.output.format not in (Format.TEXT, Format.MARKDOWN):
            raise BadInput("--plot draws text; a table of the sweep needs no --plot.")
        if self.fail_under is not None and self.sweep is not None:
            raise BadInput("--fail-under judges one launch, not a --sweep.")
        if self.batch is not None and self.output.fields:
            raise BadInput("--get takes a field of one answer, not of a --batch.")
        if self.all_cc and any(self.device.values()):
            raise BadInput("--all-cc is about every capability; name no device with it.")

    def choice(self) -> Choice:
        """Return the device that the options name; raises BadInput or Unavailable."""
        from gpuadvise.advisor.backends.choose import choose

        named = self.device
        return choose(
            gpu=named.get("gpu"),
            cc=named.get("cc"),
            device=named.get("device"),
            from_file=named.get("from"),
        )

    @property
    def threshold(self) -> float | None:
        """The least occupancy that passes, 0 to 1; raises BadInput."""
        return None if self.fail_under is None else share("--fail-under", self.fail_under)

    def verdict(self, found: Iterable[Occupancy]) -> tuple[Exit, Sequence[str]]:
        """Return the exit code for *found*, and a note if one is below the threshold."""
        lowest = min(each.occupancy for each in found)
        return fails_under("occupancy", lowest, self.threshold)

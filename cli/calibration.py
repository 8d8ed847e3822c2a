"""``--calibration``: what this machine was measured to reach, saved or in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.calibration import Calibration
    from gpuadvise.advisor.transfers.links import LinkModel

NONE = "none"  # of the option: nothing that was measured


class Measured(NamedTuple):
    """A calibration, if there is one, and a note for stderr where nobody asked for it."""

    calibration: Calibration | None = None
    notes: tuple[str, ...] = ()

    @property
    def links(self) -> LinkModel | None:
        """The link model of it."""
        return self.calibration.links if self.calibration else None


def measured(option: str | None, choice: Choice | None) -> Measured:
    """Return the calibration of the file *option*, or the one saved for the live GPU of *choice*."""
    if option == NONE:
        return Measured()
    if option is not None:
        from gpuadvise.advisor.backends.user_files import read_measurement
        from gpuadvise.cli.options import named

        return Measured(named("--calibration", read_measurement, option))
    if choice is None or choice.gpu is None or not _here(choice):
        return Measured()
    from gpuadvise.advisor.backends.calibration_file import saved

    try:
        found = saved(choice.gpu.identity)
    except BadInput as error:
        return Measured(notes=(error.message,))
    if found is None:
        return Measured()
    day = f" on {found.measured}" if found.measured else ""
    return Measured(
        found, (f"Uses what was measured on this GPU{day}; --calibration {NONE} leaves it out.",)
    )


def _here(choice: Choice) -> bool:
    from gpuadvise.advisor.device import Origin

    return choice.device.origin is Origin.LIVE

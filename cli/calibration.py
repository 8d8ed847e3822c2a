"""``--calibration``: what this machine was measured to reach, saved or in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.calibration import Calibration
    from gpuadvise.advisor.transfers.links import LinkModel

NONE = "none"  # of the option: nothing that was measured


class ChosenCalibration(NamedTuple):
    """A calibration, if there is one, and a note for stderr where nobody asked for it."""

    calibration: Calibration | None = None
    notes: tuple[str, ...] = ()

    @property
    def links(self) -> LinkModel | None:
        """The link model of it."""
        return self.calibration.links if self.calibration else None


def chosen_calibration(option: str | None, choice: Choice | None) -> ChosenCalibration:
    """Return the calibration of the file *option*, or the one saved for the live GPU of *choice*."""
    if option == NONE:
        return ChosenCalibration()
    if option is not None:
        from gpuadvise.advisor.backends.user_files import read_measurement
        from gpuadvise.cli.options import named

        return ChosenCalibration(named("--calibration", read_measurement, option))
    from gpuadvise.advisor.device import Origin

    if choice is None or choice.gpu is None or choice.device.origin is not Origin.LIVE:
        return ChosenCalibration()
    from gpuadvise.advisor.backends.calibration_file import saved

    try:
        calibration = saved(choice.gpu.identity)
    except BadInput as error:
        return ChosenCalibration(notes=(error.message,))
    if calibration is None:
        return ChosenCalibration()
    day = f" on {calibration.measured}" if calibration.measured else ""
    note = f"Uses what was measured on this GPU{day}; --calibration {NONE} leaves it out."
    return ChosenCalibration(calibration, (note,))

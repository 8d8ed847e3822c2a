"""The result and the text of ``gpuadvise bandwidth``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.memory.bandwidth import Band, band, is_gddr
from gpuadvise.advisor.memory.traffic import KernelTraffic, Peak, TypedCopy, causes, copy_causes
from gpuadvise.advisor.quantity import (
    show_binary_rate,
    show_number,
    show_rate,
    show_seconds,
    show_share,
)
from gpuadvise.advisor.transfers.copies import copy_seconds
from gpuadvise.advisor.transfers.links import Link, LinkModel, default_link_model, host_link, nvlink
from gpuadvise.cli.blocks import Block, Cell, Fact, Heading, LabelledFacts, Line, Table, Tone, table
from gpuadvise.cli.devices import device_line, source_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.device import Device


_TONES = {
    Band.IMPOSSIBLE: Tone.BAD,
    Band.BAD: Tone.BAD,
    Band.POOR: Tone.POOR,
    Band.FAIR: Tone.PLAIN,
    Band.GOOD: Tone.GOOD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthCase:
    """One question about bandwidth; no device when its factors were typed."""

    device: Device | None
    peak: Peak
    traffic: KernelTraffic
    measured: LinkModel | None = None
    slot: Link | None = None  # where it is not the device's own
    copy: TypedCopy | None = None  # what the traffic is, where it is no kernel's

    @property
    def ratio(self) -> float | None:
        """Effective / theoretical bandwidth."""
        effective = self.traffic.effective
        return None if effective is None else effective / self.peak.theoretical

    @property
    def band(self) -> Band | None:
        """The verdict on the ratio."""
        effective = self.traffic.effective
        return None if effective is None else band(effective, self.peak.theoretical)

    @property
    def causes(self) -> list[str]:
        """Likely causes of the verdict."""
        if self.band is None:
            return []
        if self.copy is not None:
            return list(copy_causes(self.copy, self.model, self.band))
        return causes(self.device, self.traffic, self.band)

    @property
    def model(self) -> LinkModel:
        """How copies of this machine behave: as measured, in the slot that was named, or by the link."""
        if self.measured is not None:
            return self.measured
        model = default_link_model(self.device)
        if self.slot is None:
            return model
        rate = self.slot.attainable
        return replace(
            model,
            h2d_rate=rate,
            d2h_rate=rate,
            pageable_h2d_rate=min(model.pageable_h2d_rate, rate),
            pageable_d2h_rate=min(model.pageable_d2h_rate, rate),
        )

    @property
    def links(self) -> list[Link]:
        """Links of the device to its host and its neighbours."""
        device = self.device
        host = self.slot or (host_link(device) if device else None)
        peers = nvlink(device.nvlink_bandwidth) if device and device.nvlink_bandwidth else None
        return [link for link in (host, peers) if link]


def input_record(case: BandwidthCase) -> dict[str, Any]:
    """Return the ``input`` of the JSON document."""
    traffic = case.traffic
    return {
        "h2d_bytes": traffic.read_bytes if case.copy and case.copy.direction == "h2d" else None,
        "d2h_bytes": traffic.read_bytes if case.copy and case.copy.direction == "d2h" else None,
        "read_bytes": None if case.copy else traffic.read_bytes,
        "write_bytes": traffic.write_bytes,
        "seconds": traffic.seconds,
    }


def result(case: BandwidthCase) -> dict[str, Any]:
    """Return the ``result`` of the JSON document."""
    copy = case.copy
    return {
        "theoretical": case.peak.theoretical,
        "effective": case.traffic.effective,
        **named_fields(case, "ratio band"),
        **named_fields(case.peak, "source formula derived published agree attainable"),
        **named_fields(case, "causes links"),
        "measured": case.measured and case.measured.to_json(),
        "copy": copy
        and {
            **named_fields(copy, "direction pageable"),
            "expected_seconds": copy_seconds(
                copy.bytes, case.model, copy.direction, pageable=copy.pageable
            ),
        },
    }


def blocks(case: BandwidthCase) -> list[Block]:
    """Return what a person reads."""
    named = [Line(device_line(case.device))] if case.device else []
    page: list[Block] = [_verdict(case), *named, LabelledFacts(tuple(_facts(case)))]
    page += [Line(cause) for cause in case.causes]
    page += [Line(note, Tone.FAINT) for note in _notes(case)]
    if case.links:
        page += [Heading("Links, each direction"), _links(case)]
    return page


# From here on a ratio is told in times: nobody reads 490,426,867.5 %.
_TIMES = 10


def _verdict(case: BandwidthCase) -> Line:
    """Return the answer in a sentence: how good the bandwidth is, or what there is at most."""
    if case.ratio is None or case.band is None:
        return Line(f"At most {show_rate(case.peak.theoretical)}.", Tone.STRONG)
    what = "what the link carries" if case.copy else "the theoretical bandwidth"
    share = f"{show_share(case.ratio)} of {what}"
    if case.ratio > _TIMES:
        share = f"{show_number(case.ratio)} times {what}"
    if case.band is Band.IMPOSSIBLE:
        return Line(
            f"Impossible: {share}. The bytes, the time or the GPU are not those.", Tone.STRONG
        )
    return Line(f"{str(case.band).capitalize()}: {share}.", Tone.STRONG)


def _facts(case: BandwidthCase) -> Iterator[Fact]:
    peak, traffic = case.peak, case.traffic
    remark = f"{show_binary_rate(peak.theoretical)}; {source_words(peak.source)}"
    yield Fact("theoretical", Cell(show_rate(peak.theoretical)), remark)
    if peak.formula:
        yield Fact("formula", Cell(peak.formula))
    if peak.published:
        differ = "" if peak.agree is not False else "; differs from the formula by more than 5 %"
        yield Fact("published", Cell(show_rate(peak.published)), f"data sheet{differ}")
    if traffic.effective is not None and case.ratio is not None and case.band:
        moved = f"{traffic.moved:,} bytes in {show_seconds(traffic.seconds or 0)}"
        remark = f"{show_binary_rate(traffic.effective)}; {moved}"
        yield Fact("effective", Cell(show_rate(traffic.effective)), remark)
        verdict = Cell(show_share(case.ratio), _TONES[case.band])
        yield Fact("ratio", verdict, str(case.band))


def _notes(case: BandwidthCase) -> Iterator[str]:
    device = case.device
    if device and device.ecc and is_gddr(device) and case.copy is None:
        yield "ECC over GDDR takes about 20 % of the bandwidth while it is on."
    if case.traffic.effective is not None:
        yield "GB/s are powers of 1000, GiB/s of 1024; both sides of the ratio are in bytes/s."


def _links(case: BandwidthCase) -> Table:
    known = [(i.name, show_rate(i.theoretical), f"~{show_rate(i.attainable)}") for i in case.links]
    if case.measured:
        source = case.measured.source
        known.append((f"host to device ({source})", "", show_rate(case.measured.h2d_rate)))
        known.append((f"device to host ({source})", "", show_rate(case.measured.d2h_rate)))
    return table(
        known,
        ("link", lambda row: row[0]),
        (">theoretical", lambda row: row[1]),
        (">copies reach", lambda row: row[2]),
    )

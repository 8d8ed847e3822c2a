"""Report files of Nsight Compute, written field by field for tests."""

from __future__ import annotations

from struct import pack

Field = tuple[int, "int | float | str | bytes"]


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*fields: Field) -> bytes:
    """A protobuf message: whole numbers as varints, others as doubles, text and bytes sized."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + pack("<d", value)
        else:
            content = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(content)) + content
    return out


def value(content: float | str) -> bytes:
    """A metric's value, stored as text, a double or a whole number."""
    kind = 1 if isinstance(content, str) else 5 if isinstance(content, int) else 3
    return message((kind, content))


def sized(content: bytes) -> bytes:
    return pack("<I", len(content)) + content


class ReportFile:
    """A report that grows by launches and code; *bytes* is the file."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self._names: dict[str, int] = {}

    def code(self, reference: int, cubin: bytes, version: int = 9 << 16) -> None:
        entry = message((1, reference), (4, cubin), (5, 9), (6, version), (7, 0))
        self._block(sized(entry), (1, 1), (2, 0))

    def launch(
        self,
        metrics: dict[str, float | str],
        *,
        kernel: tuple[str, str, str] = ("_Z1kPf", "k", "k(float *)"),
        grid: tuple[int, int, int] = (64, 1, 1),
        block: tuple[int, int, int] = (256, 1, 1),
        rules: tuple[bytes, ...] = (),
        code: int = 0,
        instances: dict[str, tuple[tuple[float, float], ...]] | None = None,
    ) -> None:
        new = [name for name in metrics if name not in self._names]
        self._names |= {name: len(self._names) + n for n, name in enumerate(new)}
        results = [
            (13, message(
                (1, self._names[name]),
                (2, value(content)),
                *((3, message((1, value(key)), (2, value(part))))
                  for key, part in (instances or {}).get(name, ())),
                (4, 0),
            ))
            for name, content in metrics.items()
        ]  # fmt: skip
        entry = message(
            *((number, 7) for number in (1, 2, 3, 4)),
            (5, kernel[0]),
            (6, kernel[1]),
            (7, kernel[2]),
            (8, 3),
            (9, message((1, 0), (2, 0), (3, 0))),
            (10, message(*enumerate(grid, 1))),
            (11, message(*enumerate(block, 1))),
            *results,
            (14, 1_700_000_000),
            (15, message((1, code))),
            (16, 0),
            *((19, rule) for rule in rules),
            (22, 1),
            (23, 7),
        )
        table = message(*((1, name) for name in new))
        self._block(sized(entry), (1, 0), (2, 1), (4, table))

    def session(self, details: bytes) -> None:
        self._block(b"", (1, 0), (2, 0), (3, details), (6, message((1, 99), (2, "secret-host"))))

    def range(self) -> None:
        self._block(sized(message((1, 7), (2, 7), (5, 1), (6, 0))), (1, 0), (2, 0), (7, 1))

    def _block(self, payload: bytes, *fields: Field) -> None:
        self.blocks.append(sized(message(*fields, (5, len(payload)))) + payload)

    @property
    def bytes(self) -> bytes:
        return b"NVR\0" + sized(message((1, 7))) + b"".join(self.blocks)


def rule(name: str, text: str, kind: int = 4, speedup: float | None = None) -> bytes:
    """A rule's result with one message."""
    said = message((1, text), (2, kind), (3, 1))
    body = message((1, said), *(((10, message((1, 2), (2, speedup))),) if speedup else ()))
    return message((1, name), (2, name), (3, message((1, body))), (4, "SomeSection"))

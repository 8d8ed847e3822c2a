"""When the description of a machine was taken: by what it says, else by a date in the name of its file."""

from __future__ import annotations

import re
from datetime import datetime

# A day in a name, with the sign that joins it to the rest: node07-2026-11-20.xml, dumps/20261120/node07.xml.
DAY_IN_NAME = re.compile(
    r"(?:^|[!._/-])(20\d\d)(?P<dash>[-_.]?)(0[1-9]|1[0-2])(?P=dash)(0[1-9]|[12]\d|3[01])"
    r"(?:[T_-]?([01]\d|2[0-3])[-_.:h]?([0-5]\d)(?:[-_.:]?([0-5]\d))?Z?)?(?=[._/-]|$)"
)
_HEAD = 4096  # bytes in which a dump says when it was taken
_IN_XML = re.compile(rb"<timestamp>([^<]{1,40})</timestamp>")
_IN_CSV = re.compile(rb"^(20\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?:\.\d+)?,", re.MULTILINE)
_OF_SMI = "%a %b %d %H:%M:%S %Y"


def taken_at(content: bytes, name: str) -> str | None:
    """Return when *content* of the file *name* was taken, as ``2026-11-20T08:30:00``; None is not known.

    The clock is that of the machine. Of a name that tells a day alone it is the beginning of that day.
    """
    head = content[:_HEAD].replace(b"\0", b"")  # PowerShell writes two bytes for a character
    if match := _IN_XML.search(head):
        try:
            words = match[1].decode("ascii", "replace").strip()
            return datetime.strptime(words, _OF_SMI).isoformat()
        except ValueError:
            return _in_name(name)
    if match := _IN_CSV.search(head):
        return _moment(*match.groups()) or _in_name(name)
    return _in_name(name)


def _in_name(name: str) -> str | None:
    """Return the last moment that *name* tells, that of its file before those of its folders."""
    for match in reversed(list(DAY_IN_NAME.finditer(name))):
        year, _, month, day, hour, minute, second = match.groups()
        if moment := _moment(year, month, day, hour or 0, minute or 0, second or 0):
            return moment
    return None


def _moment(*parts: str | bytes | int) -> str | None:
    try:
        year, month, day, hour, minute, second = map(int, parts)
        return datetime(year, month, day, hour, minute, second).isoformat()
    except ValueError:
        return None

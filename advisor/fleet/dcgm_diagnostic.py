"""The result of ``dcgmi diag``, as its table and as its JSON (``-j``), of DCGM 2 to 4."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.fleet.machine import FleetFinding, FleetMachine, MachinePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HEAD = 8192
_TABLE = re.compile(rb"^\| Diagnostic +\| Result +\|", re.MULTILINE)
_NAMES = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
_KEYS = (*(f'"{name}"'.encode() for name in _NAMES), b'"tests"')
_STATUS = re.compile(r"(?:GPU ?(\d{1,4}): *)?(pass|fail|warn|skip|not run|error)", re.IGNORECASE)
_GPU = r"\b\d{1,4}\b"
_GPUS = re.compile(r"GPUs?:? *((?:\d{1,4}[, ]*)+)")
_PRIORITIES = {"fail": "high", "error": "high", "warn": "medium"}
_MOST_RESULTS = 20_000
_ACTION = "Keep work off it, and ask `dcgmi diag -r 3 -v` there what failed; a vendor asks for its output."


def is_diagnostic(content: bytes) -> bool:
    """Return whether *content* is what ``dcgmi diag`` writes."""
    head = content[:_HEAD]
    return _TABLE.search(head) is not None or (
        b"{" in head and b'"results"' in content and any(key in content for key in _KEYS)
    )


def diagnosed_machine(host: str, content: bytes) -> FleetMachine:
    """Return what *content*, for which ``is_diagnostic`` holds, says of the machine *host*.

    Raises BadInput where it tells no test. A test that was skipped is no pass.
    """
    table = _TABLE.search(content[:_HEAD])
    results = list(_of_table(content) if table else _of_json(content))
    if not results:
        raise BadInput("holds no result of a test of dcgmi diag.", hint="Save: dcgmi diag -r 1 -j")
    if sum(max(len(gpus), 1) for _, _, gpus in results) > _MOST_RESULTS:
        raise BadInput(f"holds more than {_MOST_RESULTS:,} results.")
    findings = {
        (test, status, gpu): _finding(test, status, gpu)
        for test, status, gpus in results
        if status in _PRIORITIES
        for gpu in gpus or (None,)
    }
    return FleetMachine(
        host=host,
        part=MachinePart.DIAGNOSIS,
        findings=tuple(findings.values()),
        judged=any(status in ("pass", *_PRIORITIES) for _, status, _ in results),
    )


def _finding(test: str, status: str, gpu: int | None) -> FleetFinding:
    where = "" if gpu is None else f" on GPU {gpu}"
    return FleetFinding(
        rule="dcgm-diagnostic",
        title="DCGM's diagnostic does not pass",
        category="correctness",
        priority=_PRIORITIES[status],
        message=f"{test}: {status}{where}.",
        action=_ACTION,
        gpu=gpu,
    )


def _of_table(content: bytes) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Yield test, result and GPUs of each row; below a result stand more of it without a name."""
    test = ""
    for line in content.decode("utf-8", "replace").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 2 or not line.lstrip().startswith("|"):
            continue
        name, result = cells
        match = _STATUS.match(result)
        if match is None:
            test = name or test
            continue
        test = name or test
        known = _GPUS.search(result) if match[1] is None else None
        numbers = re.findall(_GPU, known[1]) if known else [match[1]] if match[1] else []
        yield test, match[2].lower(), tuple(map(int, numbers))


def _of_json(content: bytes) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    try:
        document, _ = json.JSONDecoder().raw_decode(
            content[content.index(b"{") :].decode("utf-8", "replace")
        )
    except (ValueError, RecursionError):
        raise BadInput("is broken JSON of dcgmi diag.") from None
    root = next(
        (document[name] for name in _NAMES if isinstance(document.get(name), dict)), document
    )
    groups = [root, *_objects(root.get("test_categories"))]
    for test in (each for group in groups for each in _objects(group.get("tests"))):
        for result in _objects(test.get("results")):
            match = _STATUS.match(str(result.get("status", ""))[:20])
            name = str(test.get("name") or "a test")[:80]
            yield name, match[2].lower() if match else "not run", _gpus_of(result)


def _gpus_of(result: dict[str, Any]) -> tuple[int, ...]:
    if str(result.get("entity_group", "")).upper() == "GPU":
        number = result.get("entity_id")
        return (number,) if isinstance(number, int) and 0 <= number < 10_000 else ()
    numbers = re.findall(_GPU, str(result.get("gpu_ids", ""))[:4000])
    return tuple(map(int, numbers))


def _objects(value: Any) -> Iterable[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

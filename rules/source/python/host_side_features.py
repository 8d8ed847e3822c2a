"""Features of sound that the host computes for each sample of each epoch."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Compute them once and store them (torch.save, numpy.save), or, where a random part is cut out first, hand out the "
    "samples and compute the features of the whole batch on the GPU (torchaudio.transforms, torch.stft)."
)
_FEATURES = re.compile(
    r"(?:^|_)(?:get_mel|mel_?spec\w*|melspectrogram|spectrogram|stft|mfcc|fbank|cqt|pyin|yin|pitch|resample|mel_spectrogram)(?:_|$)",
    re.IGNORECASE,
)
_STORED = re.compile(r"(?:^|\.)(?:load|from_disk|memmap)$")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Spectrograms and the like in what ``__getitem__`` of a data set calls; once in a data set."""
    if b"__getitem__" not in module.text.content or is_test(module) or not may_work_on_gpu(module):
        return
    for node in module.of(ast.ClassDef):
        methods = _methods(module, node)
        if "__getitem__" not in methods or "__len__" not in methods:
            continue
        for call in _features(module, methods):
            parses = _is_parser(call)
            yield module.diagnostic(
                "host-side-features", call,
                where_on_gpu(module, _PARSED if parses else _COMPUTED),
                _ACTION_PARSED if parses else _ACTION,
            )  # fmt: skip


def _methods(module: PythonModule, around: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """Return the methods of a class, with those of its bases in this file."""
    bases = {module.name_of(base) for base in around.bases}
    inherited = {
        f.name: f
        for node in module.of(ast.ClassDef)
        if node.name in bases
        for f in node.body
        if isinstance(f, ast.FunctionDef)
    }
    return inherited | {f.name: f for f in around.body if isinstance(f, ast.FunctionDef)}


def _features(module: PythonModule, methods: dict[str, ast.FunctionDef]) -> list[ast.Call]:
    """Return what ``__getitem__``, and what it calls of its class, computes of each sample: one of a kind."""
    # What a method named for features computes is shown where it is called.
    looked: list[tuple[str, ast.Call | None]] = [("__getitem__", None)]
    seen = {"__getitem__"}
    found: list[ast.Call] = []
    while looked:
        name, caller = looked.pop()
        method = methods[name]
        for part in module.walk(method):
            if not isinstance(part, ast.Call):
                continue
            called = getattr(part.func, "attr", getattr(part.func, "id", ""))
            is_own = isinstance(part.func, ast.Attribute) and ast.unparse(part.func.value) == "self"
            if is_own and called in methods:
                if called not in seen:
                    seen.add(called)
                    named = part if _FEATURES.search(called) else caller
                    looked.append((called, named))
            elif not _fills_cache(module, part) and (
                (_FEATURES.search(called) and not _STORED.search(called)) or _is_parser(part)
            ):
                found.append(part if caller is None or _is_parser(part) else caller)
    found = list(dict.fromkeys(found))
    found.sort(key=lambda call: call.lineno)
    parsers = [call for call in found if _is_parser(call)][:1]
    return [*[call for call in found if not _is_parser(call)][:MOST], *parsers]


def _is_parser(call: ast.Call) -> bool:
    """Whether *call* reads a format of text, or one that it walks element by element; labels are short."""
    if any("label" in ast.unparse(given) for given in call.args):
        return False
    return _PARSERS.search(ast.unparse(call.func)) is not None


def _fills_cache(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* runs only where nothing was kept yet."""
    return any(
        isinstance(above, ast.If) and _KEPT.search(ast.unparse(above.test))
        for above in module.ancestors(call)
    )


_KEPT = re.compile(r"cache|is None|not in|(?:exists|is_?file)\(")
MOST = number(2, "features of a data set that are shown", "", "our judgement")
_PARSERS = re.compile(
    r"(?:^|\.)(?:loadtxt|genfromtxt|read_csv|PlyData\.read|ElementTree\.parse|ET\.parse|minidom\.parse)$"
)
_COMPUTED = (
    "The host computes these features for each sample of each epoch, and the GPU waits for them."
)
_PARSED = "The host parses this file for each sample of each epoch, and the GPU waits for it."
_ACTION_PARSED = (
    "Convert the files once to arrays (.npy, a memory map, one tensor), and read those."
)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Speech(torch.utils.data.Dataset):
    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        sound = load(self.paths[index])
        return self.transform.mel_spectrogram(sound)""",
        """\
import torch


class Speech(torch.utils.data.Dataset):
    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.load(self.paths[index].with_suffix(".mel.pt"))  # computed once""",
    ),
)


RULE = source_rule(
    id="host-side-features",
    title="Do not compute the same features in each epoch",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A spectrogram takes the host milliseconds; a training step of small models takes no longer for all of a batch.",
    when="A data set computes in __getitem__, or in a method that it calls, spectrograms, pitch or another rate of sampling.",
    citations=pytorch_tuning_guide(),
    seen="self.stft.mel_spectrogram(sound)",
    file="data.py",
    action=_ACTION,
)

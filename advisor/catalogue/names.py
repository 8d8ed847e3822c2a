"""How a GPU's name is compared: the words that tell products apart, and nothing else."""

from __future__ import annotations

import re

# Words that every product of a brand carries, or that drivers and shops add at will.
_NOISE = frozenset(
    ("nvidia", "corporation", "geforce", "tesla", "gpu", "graphics", "card", "generation", "with")
)
_SAME = {"mobile": "laptop", "notebook": "laptop"}
_SIZE = re.compile(r"\b(\d+) ?(?:gib|gb|g)\b")  # 80GB, 80 GB, 144G: the number alone
_PREFIX = re.compile(r"\b(rtx|gtx|gt|sxm)(\d)")  # rtx4090 -> rtx 4090
_SUFFIX = re.compile(r"(\d)(ti|super|laptop)\b")  # 4070ti -> 4070 ti
_SUPER = re.compile(r"\b(\d{4}|\d{4} ti)s\b")  # 4080s -> 4080 super
_WORD = re.compile(r"[^\W_]+")
# The form-factor word carries a generation that nobody remembers: SXM4 is SXM.
_FORM = re.compile(r"\bsxm ?\d\b")
_BRANDS = ("quadro", "jetson", "rtx", "gtx", "gt")


def words(text: str) -> tuple[str, ...]:
    """Return the words of *text* that tell GPUs apart, in lower case, in their order."""
    plain = _PREFIX.sub(r"\1 \2", " ".join(_WORD.findall(text.lower())))
    plain = _SUFFIX.sub(r"\1 \2", _SUPER.sub(r"\1 super", _SIZE.sub(r"\1", plain)))
    plain = _FORM.sub("sxm", plain)
    return tuple(_SAME.get(word, word) for word in plain.split() if word not in _NOISE)


def key(text: str) -> str:
    """Return what two spellings of one name have in common: their words, run together."""
    return "".join(words(text))


def short_keys(name: str) -> set[str]:
    """Return the keys that remain of *name* when people leave its brand words away.

    ``NVIDIA GeForce RTX 4090`` is also ``4090``, ``Quadro P6000`` also ``p6000``, and
    ``RTX A6000`` also ``a6000``. ``Quadro RTX 4000`` stays whole: the rest of it is another
    product's name.
    """
    left = words(name)
    keys = {"".join(left)}
    while len(left) > 1 and left[0] in _BRANDS and left[:2] != ("quadro", "rtx"):
        if left[0] == "rtx" and not re.match(r"[a-z]?\d{4}", left[1]):
            break
        left = left[1:]
        keys.add("".join(left))
    return keys

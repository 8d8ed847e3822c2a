"""How a GPU's name is compared: the words that tell products apart, and nothing else."""

from __future__ import annotations

import re
from typing import NamedTuple

# Words that every product of a vendor carries, or that drivers and shops add at will.
VENDOR = frozenset(
    ("nvidia", "corporation", "gpu", "graphics", "card", "generation", "with", "design")
)
_NOISE = VENDOR | {"geforce", "tesla", "tensor", "core", "founders", "edition", "fe"}
_SAME = {"mobile": "laptop", "notebook": "laptop"}
# Compiled on first use: the names that most people type stand in the table as they are.
_SIZE = r"\b(\d+) ?(?:gib|gb|g)\b"  # 80GB, 80 GB, 144G: the number alone
_PREFIX = r"\b(rtx|gtx|gt)(\d)"  # rtx4090 -> rtx 4090
_SUFFIX = r"(\d)(tis?|super|laptop)\b"  # 4070ti -> 4070 ti
_SUPER = r"\b(\d{4}|\d{4} ti)s\b"  # 4080s -> 4080 super
_LAPTOP = r"\b(\d{4})m\b"  # 4090m -> 4090 laptop
_FORM = r"\bsxm (\d)\b"  # sxm 4 -> sxm4
_WORD = r"[^\W_]+"
_BRANDS = ("quadro", "jetson", "rtx", "gtx", "gt")
_MARK = r"[®™©]|\((?:r|tm|c)\)"
_UUID = r"\b((?:GPU|MIG)-|uuid=)[0-9a-f][0-9a-f-]{5,}"


class NamedGpu(NamedTuple):
    """A GPU's name as people or tools write it, and what a tool says beside it; None: nothing."""

    name: str
    chip: str | None = None
    sm_count: int | None = None
    memory_bytes: int | None = None


def without_uuids(text: str) -> str:
    """Return *text* with stars for each UUID in it, which says which card it is, and of whom."""
    if "-" not in text and "=" not in text:
        return text
    return re.sub(_UUID, r"\1***", text, flags=re.IGNORECASE)


def plain(text: str) -> str:
    """Return *text* in lower case with its words spelt in one way, between single spaces.

    Full-width letters and other compatibility forms become the usual ones; trade marks go.
    """
    import unicodedata  # most runs compare no name

    usual = unicodedata.normalize("NFKC", re.sub(_MARK, " ", text, flags=re.IGNORECASE)).lower()
    spelt = re.sub(_PREFIX, r"\1 \2", " ".join(re.findall(_WORD, usual)))
    spelt = re.sub(_SUPER, r"\1 super", re.sub(_SUFFIX, r"\1 \2", spelt))
    spelt = re.sub(_FORM, r"sxm\1", spelt.replace(" tis", " ti super"))
    return re.sub(_LAPTOP, r"\1 laptop", spelt).replace("max q", "maxq")


def all_words(text: str) -> tuple[str, ...]:
    """Return every word of *text*, a size of memory as its number, in their order."""
    return tuple(_SAME.get(word, word) for word in re.sub(_SIZE, r"\1", plain(text)).split())


def words(text: str) -> tuple[str, ...]:
    """Return the words of *text* that tell GPUs apart, in lower case, in their order."""
    return tuple(word for word in all_words(text) if word not in _NOISE)


def sizes(text: str) -> set[str]:
    """Return the numbers that *text* calls a size of memory: ``80`` of ``H100 80GB``."""
    return set(re.findall(_SIZE, plain(text)))


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


def form_keys(name: str) -> set[str]:
    """Return the keys of *name* with its form factor said in less detail: SXM4 as SXM."""
    left = words(name)
    if not any(re.fullmatch(r"sxm\d", word) for word in left):
        return set()
    return {"".join("sxm" if word.startswith("sxm") else word for word in left)}

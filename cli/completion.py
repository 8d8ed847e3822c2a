"""``gpuadvise completion SHELL``, and what the shell offers for the values of options.

The functions that offer values import what they list only when the shell asks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
EXAMPLES = """\
  source <(gpuadvise completion bash)           # now, or from ~/.bashrc
  gpuadvise completion zsh > "${fpath[1]}/_gpuadvise"
  gpuadvise completion fish > ~/.config/fish/completions/gpuadvise.fish"""


def command(
    shell: Annotated[str, argument("SHELL", ", ".join(SHELLS), complete=words(*SHELLS))],
) -> Exit:
    """Print the completion script of SHELL."""
    from gpuadvise.cli.typer_private import completion_script

    if shell not in SHELLS:
        raise BadInput(f"{quoted(shell)} is not a shell.", hint=f"Use one of {', '.join(SHELLS)}.")
    script = completion_script("gpuadvise", "_GPUADVISE_COMPLETE", shell)
    stream([script + "\n"])
    return Exit.RAN


def words(*accepted: str) -> Callable[[str], list[str]]:
    """Return what offers the words of a closed set."""
    return lambda incomplete: _beginning(incomplete, accepted)


def gpu_ids(incomplete: str) -> list[str]:
    """Return the catalogue's ids that begin with *incomplete*, else other ways to write them."""
    from gpuadvise.advisor.catalogue import entries

    ids = [entry.id for entry in entries()]
    names = [alias for entry in entries() for alias in entry.aliases if " " not in alias]
    names += [id.replace("-", "") for id in ids]
    return _continuing(incomplete, ids) or _continuing(incomplete, sorted(set(names)))


def gpu_words(incomplete: str) -> list[str]:
    """Return what ``gpus`` is asked for: ids, architectures and classes."""
    from gpuadvise.advisor.catalogue import entries

    devices = [entry.device for entry in entries()]
    kinds = {str(d.architecture).lower() for d in devices} | {str(d.product_class) for d in devices}
    return _continuing(incomplete, sorted(kinds)) + gpu_ids(incomplete)


def capabilities(incomplete: str) -> list[str]:
    """Return the compute capabilities that begin with *incomplete*."""
    from gpuadvise.advisor.catalogue import known_capabilities

    return _beginning(incomplete, map(str, known_capabilities()))


def targets(incomplete: str) -> list[str]:
    """Return the targets of compilers that begin with *incomplete*, the last of a list."""
    before, comma, last = incomplete.rpartition(",")
    names = [f"sm_{known.replace('.', '')}" for known in capabilities("")]
    return [f"{before}{comma}{name}" for name in _beginning(last, names)]


def number_types(incomplete: str) -> list[str]:
    """Return the number types that begin with *incomplete*, those of tensor cores last."""
    from gpuadvise.advisor.memory.number_types import NumberType
    from gpuadvise.advisor.peaks import TENSOR

    plain = list(map(str, NumberType))
    return _continuing(incomplete, [*plain, *(f"{name}{TENSOR}" for name in plain)])


links = words(
    *(f"{generation}x{lanes}" for generation in range(1, 7) for lanes in (1, 2, 4, 8, 16))
)


def formats(ctx: Any, incomplete: str) -> list[str]:
    """Return the formats that the help of the command's ``--format`` names."""
    from re import findall

    help_text = next(str(vars(p)["help"]) for p in ctx.command.params if p.name == "format")
    named = findall("[a-z]+", help_text.partition("(")[0])
    return _beginning(incomplete, (word for word in named if word != "or"))


def fields(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return the fields of the command's answer that begin with *incomplete*, and what they are."""
    from gpuadvise.cli.schemas import fields_of

    known = [("list", "All fields, and what they are."), *fields_of(ctx.command.name or "")]
    return [(path, meaning) for path, meaning in known if path.startswith(incomplete)]


def command_names(ctx: Any, incomplete: str) -> list[tuple[str, str]]:
    """Return the commands that begin with *incomplete*, and what they answer."""
    root = ctx.find_root()
    offered = root.command.shell_complete(root, incomplete)
    return [(str(item.value), item.help or "") for item in offered]


def term_names(incomplete: str) -> list[str]:
    """Return the terms of the glossary that begin with *incomplete*, in one word each."""
    from gpuadvise.cli.explain.glossary import terms

    return _continuing(incomplete, [term.name.lower().replace(" ", "-") for term in terms()])


def schema_names(incomplete: str) -> list[str]:
    """Return the names of schemas that begin with *incomplete*."""
    from gpuadvise.cli.schemas import names

    return _beginning(incomplete, names())


def rule_ids(incomplete: str) -> list[str]:
    """Return the ids of rules that begin with *incomplete*."""
    from gpuadvise.rules.guide import RULES

    return _beginning(incomplete, [rule.id for rule in RULES])


def selections(incomplete: str) -> list[str]:
    """Return the priorities, topics, categories and ids of rules that begin with *incomplete*."""
    from gpuadvise.rules.model import Category, Priority, Topic

    return _beginning(incomplete, [*Priority, *Topic, *Category]) + rule_ids(incomplete)


def priorities(incomplete: str) -> list[str]:
    """Return the priorities, and those of a category, that begin with *incomplete*."""
    from gpuadvise.rules.model import Category, Priority

    of_one = [f"{category}:{priority}" for category in Category for priority in Priority]
    return _beginning(incomplete, [*Priority, *of_one])


def _beginning(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _continuing(incomplete: str, names: list[str]) -> list[str]:
    """Return the *names*, read in any case, that go on from *incomplete*, which stays as typed.

    Shells drop what does not begin with what was typed.
    """
    typed = len(incomplete)
    return [incomplete + name[typed:] for name in names if name.startswith(incomplete.lower())]


def without_equals(environ: MutableMapping[str, str]) -> None:
    """Leave out of bash's words the ``=`` that it makes one of its own in ``--gpu=h2``.

    It would count as the value of the option. Where nothing is typed behind it yet, it stays.
    """
    words, at = environ["COMP_WORDS"].split("\n"), int(environ["COMP_CWORD"])
    separate = [
        place
        for place, (option, word) in enumerate(pairwise(words), start=1)
        if word == "=" and option.startswith("--") and place != at
    ]
    environ["COMP_WORDS"] = "\n".join(w for place, w in enumerate(words) if place not in separate)
    environ["COMP_CWORD"] = str(at - sum(place < at for place in separate))

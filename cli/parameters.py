"""What the signature of a command says of its options, without the parser of command lines.

A parameter is one option, an argument, or a record whose fields are options: ``GpuOptions`` stands for
``--gpu``, ``--cc``, ``--device`` and ``--from`` in each command that has them. A field of another type than
text gets the value that the table of options reads; nothing else names an option again. Commands stay free
of Typer, so that a library asks them with `call`; ``cli/app.py`` makes Typer's options of `options_of`.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ArgumentSpec:  # no tuple or dataclass: either takes longer to make than all arguments of a start
    """A value that stands without an option's name."""

    def __init__(self, metavar: str, help: str, complete: Callable[..., Any] | None) -> None:
        self.metavar = metavar
        self.help = help
        self.complete = complete


class OptionSpec:
    """An option, as the table of options and the command that picks it describe it."""

    def __init__(
        self,
        *,
        spellings: tuple[str, ...],
        metavar: str | None,  # None: a switch
        help: str,
        complete: Callable[..., Any] | None,
        topic: str,
        callback: Callable[..., Any] | None,
        read: Callable[[str], Any],
    ) -> None:
        self.spellings = spellings
        self.metavar = metavar
        self.help = help
        self.complete = complete
        self.topic = topic
        self.callback = callback
        self.read = read


def argument(metavar: str, help: str, *, complete: Callable[..., Any] | None = None) -> Any:
    """Return what the signature of a command says of a value without a name."""
    return ArgumentSpec(metavar, help, complete)


class CommandOptions(NamedTuple):
    """The options of a command by name, and those whose texts are read before it sees them."""

    options: Mapping[str, inspect.Parameter]
    records: Mapping[str, Any]  # by the parameter that takes one
    readers: Mapping[str, Callable[[str], Any]]
    returns: Any


@cache
def options_of(command: Callable[..., Any]) -> CommandOptions:
    """Return the options of *command*, those of a record in the record's place."""
    signature = inspect.signature(command, eval_str=True)
    options: dict[str, inspect.Parameter] = {}
    records: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if _is_record(parameter.annotation):
            records[name] = parameter.annotation
            options |= _options_in(parameter.annotation)
        else:
            options[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    readers = {name: spec.read for name, one in options.items() if (spec := _read_early(one))}
    return CommandOptions(options, records, readers, signature.return_annotation)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "_fields")


@cache
def _fields(record: Any) -> Mapping[str, Any]:
    """Return the types of the fields of *record*, by name."""
    return get_type_hints(record, include_extras=True)


def _options_in(record: Any) -> dict[str, inspect.Parameter]:
    options: dict[str, inspect.Parameter] = {}
    for name, kind in _fields(record).items():
        if _is_record(kind):
            options |= _options_in(kind)
            continue
        default = record._field_defaults.get(name, inspect.Parameter.empty)
        options[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default
        )
    return options


def _filled(record: Any, values: dict[str, Any]) -> Any:
    """Return the *record* of those of *values* that are its fields, which are taken out."""
    fields = _fields(record)
    given = {
        name: values.pop(name) for name in fields if name in values and not _is_record(fields[name])
    }
    inner = {name: _filled(kind, values) for name, kind in fields.items() if _is_record(kind)}
    return record(**given, **inner)


def _read_early(option: inspect.Parameter) -> OptionSpec | None:
    """Return what reads the text of *option*, None where its command takes text, a list or a switch."""
    kind, *said = get_args(option.annotation) or (None,)
    if not said or not isinstance(said[0], OptionSpec):
        return None
    return None if {str, bool, list[str]} & {kind, *get_args(kind)} else said[0]


def call(command: Callable[..., Any], texts: Mapping[str, Any]) -> Any:
    """Return what *command* answers to its options as texts, by name; raises what it raises."""
    own = options_of(command)
    for name in texts.keys() - own.options.keys():
        raise TypeError(f"got an unexpected keyword argument {name!r}")
    values = {
        name: own.readers[name](text) if isinstance(text, str) and name in own.readers else text
        for name, text in texts.items()
    }
    records = {name: _filled(kind, values) for name, kind in own.records.items()}
    return command(**values, **records)

"""What Typer keeps to itself and this program uses all the same: all of it stands here.

Typer gives no promise for these names. ``tests/test_typer_versions.py`` runs the program with the
oldest and the newest Typer, so that a change shows there first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer._click import Command, Context, HelpFormatter, Parameter
from typer._click.exceptions import ClickException, NoArgsIsHelpError, NoSuchOption
from typer._click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ClickException",
    "Command",
    "CompletionItem",
    "Context",
    "HelpFormatter",
    "NoArgsIsHelpError",
    "NoSuchOption",
    "Parameter",
    "completion_items",
    "completion_script",
    "listen_to_shells",
    "taken_as_text",
]


def completion_items(rows: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return what a shell is offered: words, each with its help."""
    return [CompletionItem(word, help=help) for word, help in rows]


def completion_script(program: str, variable: str, shell: str) -> str:
    """Return the script that makes *shell* ask *program*, by *variable*, for what may stand there."""
    from typer._completion_shared import get_completion_script

    return get_completion_script(prog_name=program, complete_var=variable, shell=shell)


def listen_to_shells() -> None:
    """Let the program answer the completion scripts of all shells that Typer knows."""
    from typer._completion_classes import completion_init

    completion_init()


def taken_as_text(param: Parameter, ctx: Context, value: Any) -> Any:
    """Return *value* of *param* as it was typed, after its callback; raises ClickException.

    All values of this program are text, lists of text or flags, which the commands read themselves.
    Typer 0.29 and later hand each one to pydantic, whose import costs as much as the answer.
    """
    many = param.multiple or param.nargs == -1
    value = () if many and value is None else value
    if param.required and param.value_is_missing(value):
        return type(param).process_value(param, ctx, value)  # which says so
    return value if param.callback is None else param.callback(ctx, param, value)

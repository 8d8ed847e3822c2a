"""``gpuadvise rules``: the list of rules, or one explained with live examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.cli import completion
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.options import pick
from gpuadvise.cli.parameters import argument
from gpuadvise.cli.rules.listing import list_blocks, summary
from gpuadvise.rules.extra import with_own
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.select import rule_named, selected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.rules.model import Rule

EXAMPLES = """\
  gpuadvise rules
  gpuadvise rules uncoalesced-access
  gpuadvise rules --select high --format csv"""


def command(
    name: Annotated[
        str | None,
        argument("[ID]", "A rule to explain.", complete=completion.rule_ids),
    ] = None,
    select: Annotated[
        list[str] | None, pick("select", "Only this topic, category or priority.")
    ] = None,
    own: Annotated[list[str] | None, pick("rules")] = None,
) -> Answer:
    """List the rules, or explain rule ID."""
    rules = with_own(RULES, own or ())
    given = {"rule": name, "select": select or [], "rules": own or []}
    if name is not None:
        from gpuadvise.cli.rules.text import full, rule_blocks
        from gpuadvise.rules.explanation import explain

        explanation = explain(_named(rules, name))
        return Answer(
            command="rules",
            device=None,
            input=given,
            result=full(explanation),
            blocks=lambda: tuple(rule_blocks(explanation)),
        )
    chosen = selected(rules, select or ())
    rows = [summary(rule) for rule in chosen]
    return Answer(
        command="rules",
        device=None,
        input=given,
        result={"rules": rows},
        rows=rows,
        blocks=lambda: tuple(list_blocks(chosen)),
    )


def _named(rules: Sequence[Rule], name: str) -> Rule:
    """Return the rule *name*; raises BadInput, which says where a term of the glossary is explained."""
    try:
        return rule_named(rules, name)
    except BadInput as error:
        from gpuadvise.cli.explain.glossary import term_named

        if term_named(name) is None:
            raise
        raise BadInput(error.message, hint=f"A term: gpuadvise explain {quoted(name)}.") from None

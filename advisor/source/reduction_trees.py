"""Trees of a reduction: loops that halve a distance, and join each element with the one so far away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import bare

if TYPE_CHECKING:
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_HALVES = re.compile(r"(\w+)\s*(?:>>=\s*1\b|/=\s*2\b|=[^=;]*?(?:>>\s*1\b|/\s*2\b))")


def halved_in(context: RuleContext, loop: Node) -> set[str]:
    """Return the names that *loop* halves."""
    return {match[1] for match in _HALVES.finditer(context.at(loop))}


def is_tree(context: RuleContext, loop: Node, counter: str) -> bool:
    """Whether *loop* joins each element of a shared array with the one *counter* further on."""
    steps = {counter} | {
        context.at(node.children[0])
        for node in context.file.tree.inside(loop, "init_declarator")
        if counter in re.findall(r"\w+", context.at(node.children[-1]))
    }
    elements = context.file.tree.inside(loop, "subscript_expression")
    for change in context.file.tree.inside(loop, "assignment_expression"):
        target = change.children[0]
        if target.kind != "subscript_expression" or not _is_shared(context, target):
            continue
        own = "".join(context.at(target).split())
        if any(_is_further_on(context, e, own, steps) for e in elements):
            return True
    return False


def tree_of_caller(context: RuleContext, loop: Node) -> Variable | None:
    """Return the array of the caller of which *loop* joins each element with one at a distance that it halves."""
    halved = halved_in(context, loop)
    for element in context.file.tree.inside(loop, "subscript_expression") if halved else ():
        array = context.file.variable(context.root_name(element), element, context.function)
        if array is None or not array.parameter or len(element.children) != 2:
            continue
        terms = "".join(context.at(element.children[1]).split()).strip("[]").split("+")
        other = [term for term in terms if term not in halved]
        own = f"{context.at(element.children[0])}[{'+'.join(other)}]"
        if len(terms) == len(other) + 1 and other and _names(context, loop, own):
            return array
    return None


def _names(context: RuleContext, loop: Node, words: str) -> bool:
    """Whether an element that is written as *words* stands in *loop*."""
    return any(
        "".join(context.at(element).split()) == words
        for element in context.file.tree.inside(loop, "subscript_expression")
    )


def _is_further_on(context: RuleContext, element: Node, own: str, steps: set[str]) -> bool:
    """Whether *element* is *own* with one of *steps* added to its index."""
    words = "".join(context.at(element).split())
    return any(words == f"{own[:-1]}+{s}]" or words == own.replace("[", f"[{s}+", 1) for s in steps)


def _is_shared(context: RuleContext, element: Node) -> bool:
    """Whether *element* lies in an array of shared memory, or is reached by a pointer into one."""
    base = bare(element.children[0])
    array = context.file.variable(context.at(base), base, context.function)
    if array is not None and not array.shared and array.value is not None and "*" in array.type:
        name = context.root_name(array.value)
        array = context.file.variable(name, array.value, context.function)
    return array is not None and array.shared

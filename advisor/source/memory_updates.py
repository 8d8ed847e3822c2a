"""Elements in memory that a thread stores and then updates, where a register would hold them meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.array_access import array_access
from gpuadvise.advisor.source.scopes import UNKNOWN
from gpuadvise.advisor.source.tensor_rows import ACCESSOR, tensor_elements
from gpuadvise.advisor.source.tree import LOOPS, bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_UPDATES = frozenset(("+=", "-=", "*=", "/=", "|=", "&=", "^="))
_WAITS = re.compile(rb"__sync|\bsync\(|barrier|__threadfence|atomic", re.IGNORECASE)
_LOADS = frozenset(("subscript_expression", "call_expression"))
_OFFSET = re.compile(r"(?<=\w)[-+]\d+(?=\])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An assignment *node* to the element that *words* name, of *array*; an update computes with what was there."""

    node: Node
    words: str
    array: Variable
    is_update: bool


def stores_of(context: RuleContext) -> list[Store]:
    """Return the stores to arrays and tensors of the caller that another pointer may reach, in order."""
    tensors = {}
    if context.file.says(ACCESSOR):
        tensors = {e.node.index: e.array for e in tensor_elements(context)}
    stores: list[Store] = []
    for change in context.function.nodes("assignment_expression"):
        target = bare(change.children[0])
        if target.kind != "subscript_expression" or len(change.children) != 2:
            continue
        array = tensors.get(target.index)
        if array is None:
            reached = array_access(context, target)
            array = None if reached is None else reached.parameter
        if array is None or array.restrict:
            continue
        words = "".join(context.at(target).split())
        update = context.file.operator(change) in _UPDATES or any(
            "".join(context.at(element).split()) == words
            for element in context.file.tree.inside(change.children[1], "subscript_expression")
        )
        stores.append(Store(node=change, words=words, array=array, is_update=update))
    return stores


def updated_again(context: RuleContext, stores: list[Store]) -> Iterator[tuple[Store, Store]]:
    """Yield a store and the next update of the same element by the same thread, where the first reaches memory meanwhile."""
    last: dict[str, Store] = {}
    for store in stores:
        first = last.get(store.words)
        if (
            store.is_update
            and first is not None
            and context.loop_around(first.node) is context.loop_around(store.node)
            and _leads_to(first.node, store.node)
            and _stays_between(context, first, store)
            and _is_seen_between(context, first, store, stores)
        ):
            yield first, store
        last[store.words] = store


def overlapping_updates(context: RuleContext, stores: list[Store]) -> Iterator[tuple[Store, Store]]:
    """Yield two updates in one loop of elements beside each other, as ``out[i - 1] +=`` and ``out[i] +=``."""
    seen: dict[tuple[int, str], Store] = {}
    for store in stores:
        loop = context.loop_around(store.node)
        if loop is None or not store.is_update:
            continue
        key = loop.index, _OFFSET.sub("", store.words)
        first = seen.setdefault(key, store)
        if first.words != store.words and _is_counted(context, loop, store.words):
            yield first, store


def _is_counted(context: RuleContext, loop: Node, words: str) -> bool:
    """Whether what *loop* counts, or a loop around it, is an index of its own in *words*."""
    counters: set[str] = set()
    around: Node | None = loop
    while around is not None:
        update = around.part("update")
        if update is not None and update.kind == "update_expression" and update.children:
            counters.add(context.at(update.children[0]))
        around = context.loop_around(around)
    indices = {
        _OFFSET.sub("", part + "]").rstrip("]") for part in re.findall(r"\[([^\[\]]+)\]", words)
    }
    return not counters.isdisjoint(indices)


def _leads_to(first: Node, second: Node) -> bool:
    """Whether whoever comes to *second* has come by *first*: its block holds both."""
    statement = first.parent
    if statement is None or statement.kind != "expression_statement" or statement.parent is None:
        return False
    block = statement.parent
    return block.kind == "compound_statement" and block.holds(second)


def _stays_between(context: RuleContext, first: Store, second: Store) -> bool:
    """Whether the index stays what it is from *first* to *second*, and no barrier stands between."""
    if _WAITS.search(context.file.code, first.node.end, second.node.start):
        return False
    names = set(re.findall(r"[A-Za-z_]\w*", first.words))
    changes = context.function.nodes("assignment_expression", "update_expression")
    return not any(
        first.node.end <= change.start < second.node.start
        and change.children
        and bare(change.children[0]).kind == "identifier"
        and context.at(bare(change.children[0])) in names
        for change in changes
    )


def _is_seen_between(
    context: RuleContext, first: Store, second: Store, stores: list[Store]
) -> bool:
    """Whether a store to another array stands between, which the compiler must take for one to this element."""
    return any(
        first.node.end <= store.node.start < second.node.start
        and store.array.name != first.array.name
        and _may_overlap(store.array, first.array)
        for store in stores
    )


def _may_overlap(array: Variable, other: Variable) -> bool:
    return UNKNOWN in (array.type + other.type) or array.type == other.type


def is_update(context: RuleContext, update: Node) -> bool:
    """Whether *update* computes with what it writes to."""
    operator = context.file.operator(update)
    if operator in _UPDATES:
        return True
    if len(update.children) != 2:  # what the parser could not follow
        return False
    target, value = update.children
    words = context.at(target)
    looked_at = [value, *_conditions_in_loop(context, update)]
    return operator == "=" and any(
        node.kind == "subscript_expression" and context.at(node) == words
        for part in looked_at
        for node in context.file.tree.below(part)
    )


def _conditions_in_loop(context: RuleContext, update: Node) -> Iterator[Node]:
    """Yield the conditions of *update* within its loop, as in ``if (x[k] < least[i]) least[i] = x[k]``."""
    for above in update.ancestors():
        if above.kind in LOOPS or above is context.function.body:
            return
        condition = above.part("condition") if above.kind == "if_statement" else None
        if condition is not None:
            yield condition


def loop_of_rounds(context: RuleContext, update: Node) -> Node | None:
    """Return the loop whose rounds all update the same elements by *update*, each in a loop over them inside; None without."""
    loop = context.loop_around(update)
    rounds = context.loop_around(loop) if loop is not None else None
    if loop is None or rounds is None:
        return None
    counter = _counter(context, loop)
    outer = _counter(context, rounds)
    if not counter or not outer:
        return None
    changed = context.assigned_below(rounds) - {counter, context.root_name(update.children[0])}
    parts = [update.children[0], loop.part("condition"), _start(loop), loop.part("update")]
    names = {
        context.at(node)
        for part in parts
        if part is not None
        for node in (part, *context.file.tree.below(part))
        if node.kind == "identifier"
    }
    held = [node for node in context.file.tree.below(update.children[0]) if node.kind in _LOADS]
    known = counter in names and changed.isdisjoint(names) and len(held) == 1
    return rounds if known else None


def _counter(context: RuleContext, loop: Node) -> str:
    update = loop.part("update") if loop.kind == "for_statement" else None
    return context.at(update.children[0]) if update is not None and update.children else ""


def _start(loop: Node) -> Node | None:
    declared = loop.part("initializer")
    begin = declared.child("init_declarator") if declared is not None else None
    return begin.children[-1] if begin is not None else declared

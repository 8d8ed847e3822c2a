"""``gpuadvise explain TERM``: a word of the field, or the text of an error, in a few sentences."""

from __future__ import annotations

from typing import Annotated, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import SHOWN, and_list, quoted
from gpuadvise.cli import completion
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Cell, Fact, LabelledFacts, Line, Tone
from gpuadvise.cli.explain.error_texts import ErrorText, error_in
from gpuadvise.cli.explain.glossary import Term, plain_name, term_named, terms
from gpuadvise.cli.parameters import argument

EXAMPLES = """\
  gpuadvise explain wave
  gpuadvise explain bank conflict
  gpuadvise explain                 # every term
  gpuadvise explain "no kernel image is available for execution on the device"
  gpuadvise explain Xid 79"""


def command(
    words: Annotated[
        list[str] | None,
        argument(
            "[TERM]...",
            "Such as wave, or the text of an error; none: all.",
            complete=completion.term_names,
        ),
    ] = None,
) -> Answer:
    """Explain TERM or the text of an error, or list the terms."""
    name = " ".join(words or ())
    return _explained(name) if name else _listed()


def _explained(name: str) -> Answer:
    known = term_named(name) or error_in(name)
    if known is None:
        raise BadInput(f"{quoted(name)} is not a term of the glossary.", hint=_hint(name))
    return Answer(
        command="explain",
        device=None,
        input={"term": name},
        result=_record(known),
        blocks=lambda: _page(known),
    )


def _listed() -> Answer:
    records = [_record(term) for term in terms()]
    firsts = tuple(
        Fact(term.name, Cell(f"{term.text.split('. ')[0].rstrip('.')}.")) for term in terms()
    )
    more = "gpuadvise explain TERM says more; it takes the text of an error, too."
    return Answer(
        command="explain",
        device=None,
        input={"term": None},
        result={"terms": records},
        rows=records,
        blocks=lambda: [
            LabelledFacts(firsts),
            Line(more, Tone.FAINT),
        ],
    )


def _record(known: Term | ErrorText) -> dict[str, Any]:
    return {
        "term": known.name,
        "text": known.text,
        "also": list(known.also if isinstance(known, Term) else known.said),
        "see": list(known.see if isinstance(known, Term) else ()),
        "command": known.command,
        "causes": list(known.causes if isinstance(known, ErrorText) else ()),
    }


def _page(known: Term | ErrorText) -> list[Block]:
    also, see = (known.also, known.see) if isinstance(known, Term) else ((), ())
    title = f"{known.name} ({', '.join(also)})" if also else known.name
    page: list[Block] = [Line(title, Tone.STRONG), Line(known.text)]
    if see:
        page.append(Line(f"See also: {and_list(list(see))}."))
    page += [Line(f"- {cause}") for cause in _record(known)["causes"]]
    return page + ([Line(f"Try: {known.command}")] if known.command else [])


def _hint(name: str) -> str:
    """Return which term, rule or command *name* may mean."""
    from difflib import get_close_matches

    from gpuadvise.rules.guide import RULES

    if any(rule.id == name for rule in RULES):
        return f"It is a rule: gpuadvise rules {name}."
    known = {plain_name(word): word for term in terms() for word in (term.name, *term.also)}
    near = get_close_matches(plain_name(name[:SHOWN]), known)
    near = near or [key for key in known if plain_name(name) in key.split()][:3]
    if near:
        return f"Did you mean {and_list([known[key] for key in near], 'or')}?"
    return "gpuadvise explain lists the terms; gpuadvise rules the rules."

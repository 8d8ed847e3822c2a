"""Write the catalogue of rules, their pages in docs/rules and the JSON Schemas: ``python docs/generate.py``.

Nothing in that folder is edited by hand; a test compares it with what this prints. Other pages
hold parts that are written, between two marks: the commands, a rule, the facts, the keys of the
catalogue and of a kernel description. docs/share holds what an installation puts below share/:
the manual page and the completion scripts of shells.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

import gallery

from gpuadvise.advisor.catalogue.keys import table
from gpuadvise.advisor.facts.bag import HOW, SUPPLY, Facts
from gpuadvise.advisor.quantity import show_number
from gpuadvise.advisor.xids import XidKind, kind_of, meaning_of
from gpuadvise.api.json_schema import COMMANDS as SCHEMA_COMMANDS
from gpuadvise.api.json_schema import schema_of, shared_schema
from gpuadvise.cli.app import COMMANDS
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.explain.error_texts import error_texts
from gpuadvise.cli.explain.glossary import korean_terms, term_named, terms
from gpuadvise.cli.learn.command import TUTORIALS
from gpuadvise.cli.rules.text import code_of
from gpuadvise.cli.skill.command import WHEN
from gpuadvise.cli.typer_private import completion_script
from gpuadvise.rules.deciding import numbers_of
from gpuadvise.rules.explanation import explain, needs_of
from gpuadvise.rules.guide import RULES, from_modules
from gpuadvise.rules.guide.catalogue import catalogue_file
from gpuadvise.rules.guide.device_state.xid_errors import ACTIONS
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.source import CHECKED, CUDA_RULES
from gpuadvise.rules.source.lint import lint_cuda, lint_python
from gpuadvise.rules.sources import old_guide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.thresholds import Row
    from gpuadvise.rules.explanation import Explanation, Shown
    from gpuadvise.rules.model import Rule

DOCS = Path(__file__).parent
FOLDER = DOCS / "rules"
SCHEMAS = DOCS.parent / "cli" / "schemas"
SITE = DOCS.parent / "mkdocs.yml"
CATALOGUE = DOCS.parent / "rules" / "guide" / "catalogue.json"
PICTURES = DOCS / "pictures"
KOREAN = DOCS / "ko" / "glossary.md"
LEARN = DOCS.parent / "cli" / "learn"
# Sections of both editions: what they are about, and rules or a reason beyond the citations.
GUIDE = tomllib.loads((DOCS / "sections.toml").read_text(encoding="utf-8"))
SECTIONS = GUIDE["old"]
MADE = "<!-- Written by docs/generate.py; do not edit. -->"


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    of_rules = {f"{rule.id}.md": _page(explain(rule)) for rule in RULES}
    return {
        "README.md": _index(),
        "coverage.md": _coverage(),
        "numbers.md": _numbers(),
        **of_rules,
    }


def main() -> None:
    """Write every page, and remove what is none."""
    catalogue = catalogue_file(from_modules())
    if catalogue != CATALOGUE.read_text(encoding="utf-8"):
        CATALOGUE.write_text(catalogue, encoding="utf-8", newline="\n")
        os.execv(sys.executable, [sys.executable, *sys.argv])  # this process has the old one
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
    for page in DOCS.glob("*.md"):
        page.write_text(with_written_parts(page), encoding="utf-8", newline="\n")
    SITE.write_text(with_written_parts(SITE), encoding="utf-8", newline="\n")

    for name, text in schema_files().items():
        (SCHEMAS / name).write_text(text, encoding="utf-8", newline="\n")
    for path, text in shared_files().items():
        (DOCS / "share" / path).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / "share" / path).write_text(text, encoding="utf-8", newline="\n")
    KOREAN.write_text(korean_glossary(), encoding="utf-8", newline="\n")
    for name, text in tutorial_files().items():
        (LEARN / name).write_text(text, encoding="utf-8", newline="\n")
    PICTURES.mkdir(exist_ok=True)
    for name, picture in gallery.pictures().items():
        (PICTURES / name).write_bytes(picture)
    (DOCS.parent / "llms.txt").write_text(llms(), encoding="utf-8", newline="\n")


def tutorial_files() -> dict[str, str]:
    """Return the tutorials as `gpuadvise learn` has them with it, which is as they stand in docs/tutorials."""
    return {
        f"{name}.md": (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
        for name in TUTORIALS
    }


def llms() -> str:
    """Return the list of pages for language models, as llmstxt.org describes it."""
    lines = [
        "# gpuadvise",
        "",
        f"> {WHEN}",
        "",
        "`gpuadvise skill` prints which command to take.",
        "",
    ]
    lines += ["## Documentation", ""]
    for page in sorted(DOCS.glob("*.md")):
        title, _, body = page.read_text(encoding="utf-8").partition("\n")
        answers = [row.help for row in COMMANDS if f"`{row.name}`" in title]
        about = " ".join(answers) or _opening(body)
        lines.append(f"- [{title.removeprefix('# ').replace('`', '')}](docs/{page.name}): {about}")
    lines += ["", "## Optional", "", "- [The rules](docs/rules/README.md): one page for each"]
    return "\n".join(lines) + "\n"


def _opening(body: str) -> str:
    """Return the first sentence of a page's text, without its links."""
    paragraphs = (part.strip() for part in body.split("\n\n"))
    first = next((part for part in paragraphs if part and part[0] not in "<|#`-"), "")
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", " ".join(first.split()))
    return re.split(r"(?<=[.:])\s", text)[0].rstrip(".:")


def shared_files() -> dict[str, str]:
    """Return the text of every file below share/ of an installation, by its path there."""
    scripts = {
        "bash": "bash-completion/completions/gpuadvise",
        "zsh": "zsh/site-functions/_gpuadvise",
        "fish": "fish/vendor_completions.d/gpuadvise.fish",
    }
    return {
        path: f"{completion_script('gpuadvise', '_GPUADVISE_COMPLETE', shell)}\n"
        for shell, path in scripts.items()
    } | {"man/man1/gpuadvise.1": _manual()}


def _manual() -> str:
    """Return the manual page, in roff's man macros (man 7 man-pages)."""
    asked = [sys.executable, "-m", "gpuadvise", "help", "--json"]
    commands = json.loads(subprocess.check_output(asked, text=True))["commands"]
    lines = [
        '.TH GPUADVISE 1 "" gpuadvise "User Commands"',
        ".SH NAME",
        r"gpuadvise \- what limits a CUDA kernel or transfer, and what to change first",
        ".SH SYNOPSIS",
        ".B gpuadvise",
        r".I COMMAND\fR|\fPFILE ...",
        ".SH DESCRIPTION",
        "Without a command, a file is told by its content and answered by the command that it needs.",
        ".SH COMMANDS",
    ]
    for command in commands:
        names = " ".join(entry["metavar"] or entry["name"] for entry in command["arguments"])
        lines += [f".SS {_roff(command['name'])} {_roff(names)}".rstrip(), _roff(command["help"])]
        for option in command["options"]:
            value = "" if option["switch"] else f" {option['metavar'] or ''}".rstrip()
            lines += [".TP", rf"\fB{_roff(', '.join(option['names']))}\fP{_roff(value)}"]
            lines += [_roff(option["help"] or "")]
        if command["examples"]:
            lines += [".PP", ".nf", *map(_roff, command["examples"]), ".fi"]
    lines.append(".SH EXIT STATUS")
    for code in Exit:
        lines += [".TP", f".B {int(code)}", _EXITS[code]]
    return "\n".join(lines) + "\n"


_EXITS = {
    Exit.RAN: "Ran.",
    Exit.THRESHOLD: "A threshold that the call set was met.",
    Exit.BAD_INPUT: "Bad input, or a threshold with nothing to compare.",
    Exit.UNAVAILABLE: "Something asked for is not there, was not judged, or broke.",
    Exit.INTERRUPTED: "Interrupted.",
    Exit.CLOSED_PIPE: "The reader of the output went away.",
}


def _roff(text: str) -> str:
    """Return *text* with nothing in it that roff takes for a request or an escape."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return re.sub(r"^\.", r"\\&.", plain)


def schema_files() -> dict[str, str]:
    """Return the text of every JSON Schema by its file name, as ``api/answers`` declares the answers."""
    schemas = {name: schema_of(name) for name in SCHEMA_COMMANDS} | {"common": shared_schema()}
    return {f"{name}.json": _in_lines(schema) + "\n" for name, schema in schemas.items()}


def _in_lines(value: object, depth: int = 0) -> str:
    """Return *value* as JSON with a line for each record: what an object holds that lies deeper follows on it."""
    if depth == _DEEPEST_LINES or not isinstance(value, dict):
        return json.dumps(value)
    inside = " " * (depth + 1)
    rows = (
        f"{inside}{json.dumps(key)}: {_in_lines(item, depth + 1)}" for key, item in value.items()
    )
    return "{\n" + ",\n".join(rows) + f"\n{' ' * depth}}}"


_DEEPEST_LINES = 2  # the input, the result, and each definition


def with_written_parts(page: Path) -> str:
    """Return the text of *page* (Markdown or YAML) with every part between two marks as it is now."""
    return _MARKED.sub(
        lambda part: f"{part['start']}{PARTS[part['name']]()}{part['end']}",
        page.read_text(encoding="utf-8"),
    )


def commands_table() -> str:
    """Return the table of commands, in Markdown; each has a heading with its name in some page."""
    lines = ["| command | answers | page |", "| --- | --- | --- |"]
    for entry in COMMANDS:
        title, target = page_of(entry.name)
        lines.append(f"| `{entry.name}` | {_cell(entry.help)} | [{title}]({target}) |")
    return "\n".join(lines) + "\n"


def page_of(command: str) -> tuple[str, str]:
    """Return the title of the page that tells about *command*, and the link to the place."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ").partition(":")[0]
        for level, heading in re.findall(r"^(#+) (.*`.*)$", text, re.MULTILINE):
            if command in re.findall(r"`([a-z-]+)[ `]", heading):
                anchored = f"{page.name}#{_anchor(heading)}"
                return title, page.name if level == "#" else anchored
    raise ValueError(f"no page of docs/ has a heading with `{command}` in it: write one")


def glossary() -> str:
    """Return the terms of the field, each under a heading of its own."""
    lines = []
    for term in terms():
        also = f" Also: {', '.join(term.also)}." if term.also else ""
        links = ", ".join(f"[{name}](#{_anchor(named(name))})" for name in term.see)
        see = f" See {links}." if links else ""
        shown = ["", "```sh", term.command, "```"] if term.command else []
        lines += [f"### {term.name}", "", f"{term.text}{also}{see}", *shown, ""]
    return "\n".join(["", *lines])


def korean_glossary() -> str:
    """Return the page of the terms in Korean, in the order of their usual names."""
    lines = [
        f"# 용어집\n\n{MADE}\n\n`gpuadvise explain 점유율`처럼 한국어로도 물을 수 있습니다. 대답은 영어로 나옵니다. "
        "모든 용어는 [영어 용어집](../glossary.md)에 있습니다. [시작하기](start.md)\n"
    ]
    for name, korean in sorted(korean_terms().items(), key=lambda entry: entry[1].names):
        first, *others = korean.names
        also = f" 다른 이름: {', '.join(others)}." if others else ""
        english = f"[{name}](../glossary.md#{_anchor(named(name))})"
        lines.append(f"## {first}\n\n{english}. {korean.text}{also}\n")
    return "\n".join(lines)


def named(name: str) -> str:
    """Return the name of the term that *name* names; raises ValueError."""
    term = term_named(name)
    if term is None:
        raise ValueError(f"cli/explain/glossary.toml has no term {name}")
    return term.name


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub gives *heading*."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def errors() -> str:
    """Return the texts of errors, each under a heading of its own."""
    lines = []
    for error in error_texts():
        said = ", ".join(f"`{phrase}`" for phrase in error.said)
        lines += [f"## {error.name}", "", f"{error.text} Also: {said}.", ""]
        lines += [*(f"- {cause}" for cause in error.causes), "", "```sh", error.command, "```", ""]
    return "\n".join(["", *lines])


def xids() -> str:
    """Return the table of the Xids that have a meaning of their own, by what is to do."""
    lines = ["| Xid | meaning | what to do |", "| --- | --- | --- |"]
    for kind in ACTIONS:
        codes = [code for code in range(_MOST_XID) if kind_of(code) is kind]
        for meaning in dict.fromkeys(map(meaning_of, codes)) if kind is not XidKind.UNKNOWN else ():
            same = ", ".join(str(code) for code in codes if meaning_of(code) == meaning)
            lines.append(f"| {same} | {_cell(meaning)} | {_cell(ACTIONS[kind])} |")
    return "\n".join(["", *lines, ""])


_MOST_XID = 1000


def rules_in_nav() -> str:
    """Return the part of the site's navigation that holds the rules by topic, in YAML."""
    lines = ["- Rules:", "    - rules/README.md"]
    lines += ["    - What of the guide they cover: rules/coverage.md"]
    lines += ["    - Numbers that decide: rules/numbers.md"]
    for topic in Topic:
        ids = sorted(rule.id for rule in RULES if rule.topic is topic)
        lines += [
            f"    - {topic.capitalize().replace('-', ' ')}:",
            *(f"        - {i}: rules/{i}.md" for i in ids),
        ]
    return "".join(f"  {line}\n" for line in lines)


def rule_module() -> str:
    """Return the module of one short rule that has all parts."""
    module = DOCS.parent / "rules" / "guide" / "execution" / "partial_warp.py"
    return f"```python\n{module.read_text(encoding='utf-8')}```\n"


def facts_table() -> str:
    """Return the table of what a rule may ask for, in Markdown."""
    lines = ["| fact | type | unit | how to supply it |", "| --- | --- | --- | --- |"]
    for name, kind in Facts.__annotations__.items():
        supply = SUPPLY[name]
        kind = kind.removesuffix(" | None")
        lines.append(f"| `{name}` | `{kind}` | {supply.unit} | {_cell(supply.how)} |")
    return "\n".join(lines) + "\n"


def description_example() -> str:
    """Return the kernel description that holds every key; tables of their own come last."""
    examples = [cleandoc(supply.toml) for supply in SUPPLY.values() if supply.toml]
    blocks = [_HEAD, *_SELECTION]
    for plain in (True, False):
        for text in examples:
            if plain != any(line.startswith("[") for line in text.splitlines()):
                # One line follows the other; what has several stands apart.
                separate = "\n" in text or "\n" in blocks[-1].strip()
                blocks += [f"\n{text}" if separate else text]
    return "\n".join(["```toml", *blocks, "```", ""])


# The parts of pages that are written, by the name in the mark before them.
PARTS = {
    "commands": commands_table,
    "the gallery": gallery.markdown,
    "the glossary": glossary,
    "errors": errors,
    "Xids": xids,
    "the rules": rules_in_nav,
    "a rule": rule_module,
    "facts": facts_table,
    "keys of the catalogue": table,
    "every key": description_example,
}
_MARKED = re.compile(
    r"(?P<start> *(?:<!--|#) docs/generate.py writes: (?P<name>[^\n]+?)(?: -->)?\n)"
    r".*?(?P<end> *(?:<!-- end -->|# end)\n)",
    re.DOTALL,
)
_HEAD = """\
[defaults]
gpu = "h200"  # or cc = "9.0"

[[kernel]]"""
_SELECTION = (
    'select = ["high", "execution"]  # rules that run for this kernel: ids, topics, categories, priorities',
    'ignore = ["unusual-block-size"]',
)


def _numbers() -> str:
    """Return the table of all numbers, each with the rules that it decides."""
    decided: dict[Row, list[str]] = {}
    for rule in RULES:
        for known in numbers_of(rule):
            decided.setdefault(known, []).append(f"[{rule.id}]({rule.id}.md)")
    lines = [
        MADE,
        "",
        "# Numbers that decide",
        "",
        f"{len(decided)} numbers decide what rules say. Each stands once in the code, with its source; where it",
        "was set with labelled launches at hand (`tests/truth`), the last column names them.",
        "",
        "| number | value | source | rules | launches at hand |",
        "| --- | --- | --- | --- | --- |",
    ]
    for known, rules in sorted(decided.items(), key=lambda item: item[0].name.casefold()):
        several = ", ".join(rules) if len(rules) <= _NAMED_RULES else f"{len(rules)} rules"
        lines.append(f"{_number_row(known)} {several} | {known.launches or ''} |")
    return "\n".join(lines) + "\n"


def _number_row(known: Row) -> str:
    value = f"{known.value:g} {known.unit}".strip()
    return f"| {known.name} | {value} | {_cell(known.source)} |"


_NAMED_RULES = 3


def _page(explanation: Explanation) -> str:
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    rule = explanation.rule
    yield from (MADE, "", f"# {rule.id}", "", f"**{rule.title}**", "", rule.why, "")
    yield from _facts(rule)
    yield from ("", f"**Reported when:** {rule.when}", "")
    yield from _evidence(rule)
    code = code_of(rule.id)
    if code is None:
        raise SystemExit(
            f"cli/rules/before_after.toml (or the file of a rule on sources) has no code of {rule.id}: write it there."
        )
    language = _HIGHLIGHTED.get(code.language, code.language)
    yield from ("", "## Before and after", "", f"```{language}", code.before, "```", "")
    yield from _linted(rule.id, code.before)
    yield from (f"```{language}", code.after, "```")
    yield from ("", "## An example that is reported", "", *_example(explanation.fires))
    yield from ("", "## One that is not", "", *_example(explanation.quiet))
    if explanation.edges:
        yield from ("", "## On both sides of the threshold", "", "Reported:", "")
        yield from _description(explanation.edges[0])
        yield from ("", "Not reported:", "", *_description(explanation.edges[1]))
    numbers = numbers_of(rule)
    if numbers:
        yield from (
            "",
            "## Numbers that decide",
            "",
            "| number | value | source |",
            "| --- | --- | --- |",
        )
        yield from map(_number_row, numbers)
    yield from ("", "## Sources", "")
    for citation in rule.citations:
        yield f"- {citation.document}, {citation.section}: <{citation.url}>"


_HIGHLIGHTED = {"cuda": "cuda", "host": "cuda"}


def _facts(rule: Rule) -> Iterator[str]:
    star = "yes" if rule.recommendation else "no"
    yield from (
        "| priority | topic | prioritised by the guide | evidence |",
        "| --- | --- | --- | --- |",
    )
    yield f"| {rule.priority} | {rule.topic} | {star} | {', '.join(rule.kinds)} |"


def _evidence(rule: Rule) -> Iterator[str]:
    yield from ("| needs | how to supply it |", "| --- | --- |")
    for fact, how in needs_of(rule, HOW):
        choice = " (one of these)" if fact in rule.either and len(rule.either) > 1 else ""
        yield f"| `{fact}`{choice} | {_cell(how)} |"


def _linted(rule: str, text: str) -> Iterator[str]:
    """Yield what ``lint`` says of the code *text* of a rule on sources."""
    if rule not in CHECKED:
        return
    lint = lint_cuda if rule in CUDA_RULES else lint_python
    yield from ("`gpuadvise lint` says:", "")
    for seen in lint(text.encode(), "page", select={rule}).diagnostics:
        yield from (f"> `{seen.seen}`: {seen.message}", ">", f"> **Do:** {seen.action}", "")


def _example(shown: Shown) -> Iterator[str]:
    yield from _description(shown)
    for finding in shown.findings:
        message = finding.message.replace("](", "]\\(")  # a launch of Numba is no link
        yield from ("", f"> {message}", ">", f"> **Do:** {finding.advice.action}")
        gain = finding.advice.gain
        if gain and gain.upper_bound > 1:
            yield from (
                ">",
                f"> **Can win** at most {show_number(gain.upper_bound)}x {gain.kind}: {gain.how}.",
            )


def _description(shown: Shown) -> Iterator[str]:
    yield from ("```toml", "[[kernel]]", *shown.description.splitlines(), "```")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _index() -> str:
    lines = [MADE, "", "# The rules", "", _intro(), "", "## By priority", ""]
    for priority in Priority:
        lines += [
            f"### {priority.capitalize()}",
            "",
            *_listed(r for r in RULES if r.priority is priority),
            "",
        ]
    lines += ["## By topic", ""]
    for topic in Topic:
        lines += [f"### {topic}", "", *_listed(r for r in RULES if r.topic is topic), ""]
    return "\n".join(lines)


def _intro() -> str:
    stars = sum(rule.recommendation for rule in RULES)
    return (
        f"{len(RULES)} rules; a star marks the {stars} recommendations that the best practices "
        "guide itself gives a priority. [coverage.md](coverage.md) lists them by chapter, "
        "[numbers.md](numbers.md) the numbers that decide."
    )


def _listed(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        star = " ★" if rule.recommendation else ""
        yield f"- [{rule.id}]({rule.id}.md){star}: {rule.title} ({rule.priority}, {rule.topic})"


def _coverage() -> str:
    """Return the table: recommendation of the guide -> rule -> evidence."""
    lines = [
        MADE,
        "",
        "# What of the guide is covered",
        "",
        "## Its prioritised recommendations",
        "",
    ]
    lines += _table(rule for rule in RULES if rule.recommendation)
    lines += ["", "## Every section that a rule rests on", ""]
    lines += ["Sections of the current guide (13), and of 7.5 in brackets.", ""]
    lines += _table(sorted(RULES, key=lambda rule: _number(_sections(rule).split(",")[0])))
    lines += ["", "## Sections without a rule", "", "| section | why |", "| --- | --- |"]
    lines += [f"| {section} | {why} |" for section, why in GUIDE["without"].items()]
    lines += ["", "## Chapters 8 to 16 of the 7.5 guide, section by section", ""]
    lines += ["| section | about | rules |", "| --- | --- | --- |"]
    lines += [
        f"| {number} | {section['about']} | {_answer(number)} |"
        for number, section in SECTIONS.items()
    ]
    return "\n".join(lines) + "\n"


def rules_of(number: str) -> list[str]:
    """Return the ids of the rules that rest on section *number* of the 7.5 guide."""
    cited = old_guide(number)
    citing = [rule.id for rule in RULES if cited in rule.citations]
    return [*dict.fromkeys([*citing, *SECTIONS[number].get("rules", ())])]


def _answer(number: str) -> str:
    links = [f"[{name}]({name}.md)" for name in rules_of(number)]
    return ", ".join(links) or f"none: {SECTIONS[number].get('none', '')}"


def _table(rules: Iterable[Rule]) -> Iterator[str]:
    yield "| section | recommendation | rule | priority | evidence |"
    yield "| --- | --- | --- | --- | --- |"
    for rule in rules:
        kinds = ", ".join(rule.kinds)
        link = f"[{rule.id}]({rule.id}.md)"
        yield f"| {_sections(rule)} | {rule.title} | {link} | {rule.priority} | {kinds} |"


def _sections(rule: Rule) -> str:
    now = [c.section for c in rule.citations if c.document.endswith("Guide 13")]
    old = [c.section for c in rule.citations if c.document.endswith("7.5")]
    elsewhere = [c.section for c in rule.citations if not now and not old]
    bracket = f" ({', '.join(old)})" if old else ""
    return ", ".join(now or elsewhere) + bracket


def _number(section: str) -> tuple[int, ...]:
    parts = section.split(" ")[0].split(".")
    return tuple(int(part) if part.isdigit() else 99 for part in parts)


if __name__ == "__main__":
    main()

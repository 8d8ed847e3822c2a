"""Files that nobody would write, and how people do write: encodings, sizes, nesting."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput, TooCostly
from gpuadvise.advisor.source import text as source_text
from gpuadvise.advisor.source import tree
from gpuadvise.advisor.source.language import MOST_PARTS, is_python, syntax_fault
from gpuadvise.advisor.source.text import LARGEST
from gpuadvise.advisor.source.tree import LARGEST_PIECE, PIECE, pieces_of
from gpuadvise.rules.source.lint import lint_cuda, lint_python

MANY = 100_000
HOST = "__global__ void k(int);\nint main() { k<<<1, 32>>>(1); cudaGetLastError(); "


def test_a_codec_of_some_package_hides_nothing() -> None:
    """Such a codec rewrites the file as Python imports it, and what it rewrites is UTF-8."""
    program = "# -*- coding: future_fstrings -*-\nimport torch\nx = torch.ones(3).cuda()  # é\n"
    loop = "for i in range(10):\n    print('é', x.sum().item())\n"
    (found,) = lint_python((program + loop).encode(), "a.py").diagnostics
    assert (found.rule, found.where.line, found.where.column) == ("hidden-synchronizations", 5, 16)


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k() { int x = " + "(" * MANY + "1" + ")" * MANY + "; }",
        "__global__ void k() " + "{" * MANY + "}" * MANY,
        "__global__ void k() {" + "[" * MANY,
        "template<" * 10_000,
        "#if A\n" * 10_000,
        "/*" * MANY,
        '"' * MANY,
        HOST + "x = " + "-" * MANY + "(1); }",
        HOST + "f(" * MANY + "1" + ")" * MANY + "; }",
        HOST + "x = " + "a?b:" * MANY + "(1); }",
        HOST + "int a[] = " + "{" * MANY + "}" * MANY + "; }",
    ],
    ids=[
        "brackets", "braces", "unclosed", "templates", "directives", "comments", "quotes",
        "signs", "calls", "conditions", "lists",
    ],
)  # fmt: skip
def test_deep_nesting_is_read_without_recursion(text: str) -> None:
    assert not lint_cuda(text.encode(), "k.cu").diagnostics


def test_many_stores_and_literals_take_time_in_proportion() -> None:
    # A hundred thousand of each: what looks at pairs of them would take minutes.
    for store, rules in (("o[n] = p[n];", []), ("o[n] = p[n] + n;", ["unrestricted-pointers"])):
        text = "__global__ void k(float *o, float *p, int n) {" + store * MANY + "}"
        assert [d.rule for d in lint_cuda(text.encode(), "k.cu").diagnostics] == rules


@pytest.mark.parametrize("dot", [".", " . ", " \\\n."])
def test_a_dotted_name_has_a_bounded_number_of_parts(dot: str) -> None:
    for parts in (MOST_PARTS, MOST_PARTS + 1):
        data = f"import torch\nimport {dot.join(['a'] * parts)}\n".encode()
        if parts <= MOST_PARTS:
            assert lint_python(data, "k.py").diagnostics == ()
            assert is_python(data)
            continue
        with pytest.raises(BadInput, match="nested too deeply"):
            lint_python(data, "k.py")
        assert syntax_fault(data) is None
        assert not is_python(data)


@pytest.mark.parametrize("text", ["1. 2. " * 300, "." * 500, "a word. " * 300])
def test_numbers_dots_and_sentences_are_no_dotted_name(text: str) -> None:
    assert is_python(f'"""{text}"""\nimport torch\n'.encode())


def test_python_that_nests_too_deeply_is_refused() -> None:
    with pytest.raises(BadInput, match="deep"):
        lint_python(b"import torch\nx = " + b"(" * MANY + b")" * MANY, "t.py")


@pytest.mark.parametrize(("calls", "is_followed"), [(20, True), (90, True), (400, False)])
def test_a_chain_of_calls_is_followed_once(calls: int, is_followed: bool) -> None:
    chain = "torch.zeros(8)" + ".unknown(8)" * calls
    data = f"import torch\nfor step in range(9):\n    a = {chain}\n    print(a.cuda().item())\n"
    assert bool(lint_python(data.encode(), "k.py").diagnostics) == is_followed


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(BadInput, match="not source text"):
        lint_cuda(b"\x7fELF\0\0\0", "a.out")


def test_a_huge_file_is_refused() -> None:
    with pytest.raises(BadInput, match="reads up to"):
        lint_cuda(b" " * (LARGEST + 1), "table.cu")


def test_a_huge_declaration_is_refused() -> None:
    body = b"x+=1;\n" * (LARGEST_PIECE // 6)
    with pytest.raises(BadInput, match="holds one declaration of"):
        lint_cuda(b"__global__ void k(int x) {\n" + body + b"}\n", "generated.cu")


KERNEL = """
struct Pair%d { float a; float b; };
__global__ void kernel%d(float *out, Pair%d *in, int n) {
  using T = float;
  out[threadIdx.x] = in[threadIdx.x].a * 0.3 + "};"[0];
  if (threadIdx.x == 0) __syncthreads();
  // %s
}
void launch%d(float *out, Pair%d *in) { kernel%d<<<1, 33>>>(out, in, 1); }
"""


def test_a_file_in_pieces_is_checked_like_a_small_one() -> None:
    one = KERNEL % (1, 1, 1, "", 1, 1, 1)
    few = [d.rule for d in lint_cuda(one.encode(), "k.cu").diagnostics]
    count = 5 * PIECE // 2 // len(KERNEL % (1, 1, 1, "-" * 20_000, 1, 1, 1))
    many = "".join(KERNEL % (n, n, n, "-" * 20_000, n, n, n) for n in range(count)).encode()
    assert len(pieces_of(many)) >= 2
    seen = lint_cuda(many, "k.cu")
    said = [d.rule for d in seen.diagnostics]
    once = ["unchecked-errors"]  # said at the first launch of a file
    each = [rule for rule in few if rule not in once]
    assert [rule for rule in said if rule not in once] == each * count
    assert said.count(once[0]) == few.count(once[0]) == 1
    assert seen.unparsed == ()
    assert all(
        many[d.where.start : d.where.end].startswith(d.seen[:5].encode()) for d in seen.diagnostics
    )


def test_bodies_are_closed_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(KERNEL % (n, n, n, "", n, n, n) for n in range(40)).encode()
    before = lint_cuda(text, "k.cu").diagnostics
    monkeypatch.setattr("gpuadvise.advisor.source.tree._MOST_HELD", 20)
    assert lint_cuda(text, "k.cu").diagnostics == before


def test_long_tables_cost_nothing() -> None:
    table = b"const float table[] = {" + b"0.125f, {1, -2}, " * 70_000 + b"};\n"
    code = b"__global__ void k(float *a) { a[0] = a[1] * 0.3; }\n"
    (found,) = lint_cuda(table + code, "k.cu").diagnostics
    assert (found.rule, found.where.line) == ("implicit-double", 2)


def test_what_is_no_python_3_is_said() -> None:
    with pytest.raises(BadInput, match="line 2: this is not Python 3"):
        lint_python(b"import torch\nprint 1\n", "t.py")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp949"])
def test_columns_count_characters_in_any_encoding(encoding: str) -> None:
    word = "é" if encoding == "latin-1" else "가"
    text = f"/* {word} */ __global__ void k(float *a) {{ a[0] = a[1] * 0.3; }}"
    (found,) = lint_cuda(text.encode(encoding), "k.cu").diagnostics
    assert found.rule == "implicit-double"
    if encoding in ("utf-8", "utf-16", "latin-1"):
        assert found.where.column == text.index("0.3") + 1


def test_unknown_syntax_is_listed_and_the_rest_is_checked() -> None:
    text = "int @@@ $$$ ;\n__global__ void k(float *a) { a[0] = a[1] * 0.3; }\n"
    result = lint_cuda(text.encode(), "k.cu")
    assert [d.where.line for d in result.diagnostics] == [2]
    assert {r.line for r in result.unparsed} == {1}


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_end_in_an_answer(data: bytes) -> None:
    for lint in (lint_cuda, lint_python):
        try:
            result = lint(b"import torch\n" + data, "f")
        except BadInput:
            continue
        assert all(d.where.start <= d.where.end for d in result.diagnostics)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="{}()[];=+*/%<>.,01fxi \n#_", max_size=300))
def test_any_tokens_end_in_an_answer(body: str) -> None:
    lint_cuda(("__global__ void k(float *x, int i) {" + body).encode(), "k.cu")


STORES = "__global__ void k(float *o, float *p, int n) {" + "o[n] = p[n] + n;" * 12_000 + "}"


@pytest.mark.parametrize("where", ["parser", "rules"])
@pytest.mark.parametrize(("share", "judged"), [(0.9, True), (1.1, False)])
def test_a_file_may_keep_a_processor_busy_for_so_long(
    share: float, judged: bool, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linear in its size: parsing and all questions together."""
    most = source_text.most_seconds(len(STORES))
    assert (
        most == len(STORES) * source_text.MOST_FILE_SECONDS_PER_BYTE > source_text.MOST_FILE_SECONDS
    )
    now = [0.0]
    took = most * share
    name = "_tree_of" if where == "parser" else "inside"
    slow = getattr(tree.Tree, name)

    def slowly(self: tree.Tree, *args: object) -> object:
        done = slow(self, *args)
        now[0] = took  # from the first such call on
        return done

    monkeypatch.setattr(tree.Tree, name, slowly)
    monkeypatch.setattr(tree.time, "process_time", lambda: now[0])
    if judged:
        assert lint_cuda(STORES.encode(), "k.cu").diagnostics
    else:
        with pytest.raises(TooCostly, match="was not judged"):
            lint_cuda(STORES.encode(), "k.cu")


def test_a_small_file_has_as_long_as_one_of_100_kilobytes() -> None:
    assert (
        source_text.most_seconds(0)
        == source_text.most_seconds(100_000)
        == source_text.MOST_FILE_SECONDS
    )
    assert source_text.most_seconds(10**6) == pytest.approx(18)


def test_a_parser_that_is_slow_stops_at_the_bound_of_the_file(monkeypatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(tree, "MOST_SECONDS", 10**9)
    monkeypatch.setattr(tree.time, "process_time", lambda: next(clock))
    with pytest.raises(TooCostly):
        lint_cuda(STORES.encode(), "k.cu")

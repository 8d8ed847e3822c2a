"""``gpuadvise timeline``: where the time of a recorded run went."""

from __future__ import annotations

from gpuadvise.advisor.timelines.case import ranks_in
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.engines import chosen_engine, with_lost
from gpuadvise.cli.not_judged import NotJudged
from gpuadvise.cli.timeline.answer import answer
from gpuadvise.cli.timeline.request import (
    TimelineRequest,
    operators_of,
    parse_files,
    timelines_by,
    timelines_in,
    with_memory,
)

EXAMPLES = """\
  gpuadvise timeline trace.json.gz
  gpuadvise timeline report.sqlite --show --limit 20
  gpuadvise timeline traces/ --json      # a folder with a file for each rank
  gpuadvise timeline trace.json --get what_if.0.speedup
  gpuadvise timeline trace.json --plot timeline.svg"""


def command(request: TimelineRequest) -> Answer:
    """Say where the time of each FILE went; --gpu names a GPU that the file does not."""
    request = request._replace(files=parse_files(request.files))
    request, memories = with_memory(request)
    asked = request.gpu.choice().device if request.gpu.given else None
    left: list[NotJudged] = []
    spread = chosen_engine(request.engine)
    if spread is None:
        cases = list(timelines_in(request.files, asked))
    else:
        cases = list(timelines_by(spread, request.files, asked, left))
    longest = max(cases, key=lambda case: case.timeline.span_ns)
    listed = operators_of(longest) if request.operators else None
    if request.plot is not None:
        from gpuadvise.cli.render.picture import save
        from gpuadvise.cli.timeline.lanes import draw, picture, title

        line = longest.timeline
        save(request.plot, title(line), lambda axes: draw(axes, line), lambda: picture(line))
    ranks = ranks_in(cases)
    said = answer(
        request,
        cases,
        ranks.balance(),
        listed,
        left,
        unlike=ranks.why_not_one_run,
        memories=memories,
    )
    return with_lost(said, spread)

"""``gpuadvise run``: the program stays as it is, and what it did is recorded and judged.

A torch stands in that counts steps as PyTorch does and hands out a recorded trace: no GPU is here.
Where PyTorch itself is installed the hook is tried on it, too.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import traces

if TYPE_CHECKING:
    from pathlib import Path

STAND_IN = {
    "__init__.py": """
from torch import cuda, nn, optim, profiler
_grad = True
def is_grad_enabled(): return _grad
""",
    "cuda.py": """
import os
def is_available(): return "NO_GPU" not in os.environ
def is_initialized(): return True
def is_current_stream_capturing(): return "CAPTURING" in os.environ
def synchronize(): pass
""",
    "autograd/__init__.py": "",
    "autograd/profiler.py": """
class profile:
    running = None
    def __init__(self, enabled=True): self.enabled, self.kineto_results = enabled, None
    def __enter__(self):
        if profile.running: raise RuntimeError("Profiler is already enabled on this thread")
        profile.running = self
    def __exit__(self, *_): profile.running, self.kineto_results = None, 1
""",
    "nn/__init__.py": "from torch.nn import modules",
    "nn/modules/__init__.py": "from torch.nn.modules import module",
    "nn/modules/module.py": """
before, after = [], []
register_module_forward_pre_hook, register_module_forward_hook = before.append, after.append
def call(module, inner=None):
    for hook in before: hook(module, ())
    if inner: inner()
    for hook in after: hook(module, (), None)
""",
    "optim/__init__.py": "",
    "optim/optimizer.py": """
hooks = []
register_optimizer_step_post_hook = hooks.append
def step(optimizer):
    for hook in hooks: hook(optimizer, (), {})
""",
    "profiler.py": """
import os
from torch.autograd import profiler
class ProfilerActivity: CPU, CUDA = "cpu", "cuda"
class ProfilerAction: WARMUP, RECORD = "warmup", "record"
class profile:
    def __init__(self, schedule=None, acc_events=False, **options):
        self.options, self.schedule, self.steps = options, schedule, 0
        self.actions = []
    def start(self):
        if os.environ.get("BROKEN"): raise RuntimeError("busy")
        self.inner = profiler.profile()
        self.inner.__enter__()
        if self.schedule: self.actions = [self.schedule(0)]
    def step(self):
        self.steps += 1
        self.actions.append(self.schedule(self.steps))
    def stop(self): self.inner.__exit__()
    def export_chrome_trace(self, path):
        text = open(os.environ["TRACE"]).read()
        stacks = "stacks" if self.options["with_stack"] else "plain"
        recorded = self.actions.count("record")
        open(path, "w").write(text.replace("add", "ran_%d_%s" % (recorded, stacks)))
""",
}
TRAINING = """
import sys, torch
from torch.optim.optimizer import step
from torch.nn.modules.module import call
first, second = object(), object()
print("out", sys.argv[1:])
print("err", file=sys.stderr)
for _ in range({steps}):
    call(None, lambda: call(None))
    step(first); step(second)
sys.exit({code})
"""
INFERENCE = """
import torch
from torch.nn.modules.module import call
torch._grad = False
for _ in range(9):
    call(None, lambda: call(None))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in STAND_IN.items():
        path = tmp_path / "site" / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "trace.json").write_text(
        traces.kineto([traces.kernel(0, 10), traces.kernel(30, 10)])
    )
    (tmp_path / "tmp").mkdir()
    return tmp_path


def environment(folder: Path, **more: str) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": str(folder / "site"),
        "TRACE": str(folder / "trace.json"),
        "TMPDIR": str(folder / "tmp"),
        "PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin",
    } | more  # fmt: skip


def run(folder: Path, program: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(program)
    line = [sys.executable, "-m", "gpuadvise", "run", *options, "--"]
    return subprocess.run(
        [*line, sys.executable, str(folder / "train.py"), "--lr", "1"],
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_program_stays_as_it_is_and_its_time_is_told(folder: Path) -> None:
    done = run(folder, TRAINING.format(steps=20, code=7))
    assert done.returncode == 7
    assert done.stdout == "out ['--lr', '1']\n"
    assert done.stderr.startswith("err\n")
    assert "50 % of 40 us" in done.stderr
    assert "ran_3_plain" in done.stderr
    assert not list((folder / "tmp").iterdir())


def test_options(folder: Path) -> None:
    kept = folder / "kept.json"
    options = ("--warmup", "2", "--steps", "4", "--stacks", "--keep", str(kept))
    done = run(folder, TRAINING.format(steps=9, code=0), *options)
    assert done.returncode == 0
    assert "ran_4_stacks" in kept.read_text()
    assert f"gpuadvise advise {kept}" in done.stderr


def test_calls_of_the_outermost_module_are_steps_where_nothing_is_trained(folder: Path) -> None:
    assert "ran_3_plain" in run(folder, INFERENCE).stderr


def test_a_recording_that_the_end_cuts_short_is_kept(folder: Path) -> None:
    assert "ran_2_plain" in run(folder, TRAINING.format(steps=6, code=0)).stderr


@pytest.mark.parametrize(
    ("program", "more", "words"),
    [
        (TRAINING.format(steps=2, code=0), {}, "no step after a warm-up of 5 steps"),
        ("print(1)", {}, "did not import torch"),
        (TRAINING.format(steps=9, code=0), {"BROKEN": "1"}, "RuntimeError: busy"),
    ],
)
def test_why_nothing_was_recorded(
    folder: Path, program: str, more: dict[str, str], words: str
) -> None:
    done = run(folder, program, **more)
    assert done.returncode == 3
    assert words in done.stderr
    assert run(folder, program.replace("exit(0)", "exit(4)") + "\n", **more).returncode in (3, 4)


# Exit codes: the program's own where it is not 0, else whether its recording was answered. Of a part of
# one the answer says so, as `timeline` does where no gate is asked for.
STATES = {
    "fine": 0, "faulty": 7, "empty": 3, "unreadable": 3, "damaged": 3, "foreign": 3, "partial": 0, "version": 3,
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_a_recording_in_a_state(folder: Path, state: str) -> None:
    trace = folder / "trace.json"
    text = trace.read_text()
    contents = {
        "empty": "", "damaged": "{" + "x" * 100, "foreign": '{"a": 1}', "version": "SQLite format 3\0",
        "partial": text[: text.rindex('"dur"')],
    }  # fmt: skip
    trace.write_text(contents.get(state, text))
    if state == "unreadable":
        profiler = folder / "site" / "torch" / "profiler.py"
        written = 'open(path, "w").write('
        profiler.write_text(STAND_IN["profiler.py"].replace(written, "os.mkdir(path); ("))
    done = run(folder, TRAINING.format(steps=9, code=7 if state == "faulty" else 0))
    assert done.returncode == STATES[state], done.stderr
    assert ("note: The file ends early" in done.stderr) == (state == "partial")
    assert "itself failed" not in done.stderr
    assert done.stdout == "out ['--lr', '1']\n"


def test_a_recording_that_cannot_be_kept_is_said(folder: Path) -> None:
    (folder / "full").symlink_to("/dev/full")
    options = ("--keep", str(folder / "full"))
    done = run(folder, TRAINING.format(steps=9, code=0), *options)
    assert (done.returncode, "cannot be written: No space left" in done.stderr) == (3, True)
    assert "50 % of 40 us" in done.stderr
    assert "is kept" not in done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["-I", "train.py"], "with -I, -E or -S ignores PYTHONPATH"),
        (["-S", "train.py"], "with -I, -E or -S ignores PYTHONPATH"),
    ],
)
def test_a_python_that_takes_nothing_up(folder: Path, line: list[str], words: str) -> None:
    (folder / "train.py").write_text("print(1)")
    done = shell(folder, shlex.join([sys.executable, *line]))
    assert (done.returncode, done.stdout) == (3, "1\n")
    assert words in done.stderr


def shell(folder: Path, line: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What ``run`` says of *line*, which a shell starts."""
    return subprocess.run(
        [sys.executable, "-m", "gpuadvise", "run", *options, "sh", "-c", line],
        env=environment(folder, **more),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_script_starts_the_program_and_options_behind_it_are_its_own(folder: Path) -> None:
    (folder / "train.py").write_text(TRAINING.format(steps=20, code=7))
    script = folder / "train.sh"
    script.write_text(f'#!/bin/sh\n{sys.executable} train.py "$@"\n')
    script.chmod(0o755)
    line = [sys.executable, "-m", "gpuadvise", "run", str(script), "--format", "json", "--keep"]
    done = subprocess.run(
        [*line, "--", "x"],
        env=environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 7
    assert done.stdout == "out ['--format', 'json', '--keep', '--', 'x']\n"
    assert "ran_3_plain" in done.stderr


def test_torch_is_looked_for_before_it_is_imported(folder: Path) -> None:
    asks = "import importlib.util\nassert importlib.util.find_spec('torch')\n"
    assert "ran_3_plain" in run(folder, asks * 2 + TRAINING.format(steps=9, code=0)).stderr


def test_programs_that_look_for_a_torch_that_is_not_there_are_told_so(folder: Path) -> None:
    (folder / "train.py").write_text("import importlib.util as u; print(u.find_spec('torch'))")
    done = shell(folder, f"{sys.executable} train.py", PYTHONPATH="")
    assert done.stdout == "None\n"
    assert "did not import torch" in done.stderr


def test_what_is_evaluated_before_the_training_is_not_recorded(folder: Path) -> None:
    evaluates = INFERENCE + "torch._grad = True\n"
    assert "ran_3_plain" in run(folder, evaluates + TRAINING.format(steps=9, code=0)).stderr
    some = evaluates.replace("range(9)", "range(6)")
    assert "ran_3_plain" in run(folder, some + TRAINING.format(steps=9, code=0)).stderr


OWN_PROFILER = """
from torch.autograd.profiler import profile
with profile(): {inside}
"""


def test_the_programs_own_profiler_goes_first(folder: Path) -> None:
    training = TRAINING.format(steps=9, code=0).replace("sys.exit(0)", "")
    indented = "\n".join(f"    {line}" for line in training.splitlines())
    done = run(folder, OWN_PROFILER.format(inside=f"\n{indented}"))
    assert "error: PyTorch's profiler did not record" in done.stderr
    assert "The program runs PyTorch's profiler itself" in done.stderr
    # One that has ended is in nobody's way; one that begins ends the recording.
    assert "ran_3_plain" in run(folder, OWN_PROFILER.format(inside="pass") + training).stderr
    between = training.replace(
        "    step(first); step(second)",
        "    step(first); step(second)\n    if _ == 5:\n        from torch.autograd import profiler\n"
        "        with profiler.profile(): print('own')",
    )
    done = run(folder, between)
    assert "own\n" in done.stdout
    assert "Traceback" not in done.stderr
    assert "which ended this recording" in done.stderr
    assert "ran_2_plain" in done.stderr


def test_nothing_is_recorded_while_a_graph_is_captured(folder: Path) -> None:
    done = run(folder, TRAINING.format(steps=9, code=0), CAPTURING="1")
    assert "no step after a warm-up" in done.stderr


def test_without_a_gpu_the_answer_says_so_and_the_exit_code_too(folder: Path) -> None:
    (folder / "trace.json").write_text(traces.kineto([]))
    done = run(folder, TRAINING.format(steps=9, code=0), NO_GPU="1")
    assert done.returncode in (2, 3)
    assert "PyTorch sees no GPU here" in done.stderr


@pytest.mark.parametrize(("slowed", "is_said"), [("0.03", True), ("0", False)])
def test_a_host_that_recording_slowed_is_said(folder: Path, slowed: str, is_said: bool) -> None:
    training = TRAINING.format(steps=9, code=0).replace(
        "    step(first)",
        "    import time, torch.autograd.profiler as p\n"
        f"    time.sleep(0.02 + {slowed} * bool(p.profile.running)); step(first)",
    )
    done = run(folder, training)
    assert done.returncode == 0, done.stderr
    assert ("Recording slowed the host: it took 5" in done.stderr) == is_said
    assert ("Recording slowed" in done.stderr) == is_said


def test_workers_are_left_alone_and_ranks_are_recorded(folder: Path) -> None:
    workers = """
import multiprocessing, os, sys
def work(number):
    import torch
    from torch.optim.optimizer import step
    os.environ.get("RANKS") and [step(torch) for _ in range(9)]
    os.write(1, b"worker %d\\n" % number)  # at once: another writes there too
if __name__ == "__main__":
    for way in sys.argv[1:2]:
        all = [multiprocessing.get_context(way).Process(target=work, args=(n,)) for n in range(2)]
        [one.start() for one in all]
        [one.join() for one in all]
"""
    (folder / "train.py").write_text("import torch\n" + workers)
    for way in ("fork", "spawn"):
        done = shell(folder, f"{sys.executable} train.py {way}")
        assert sorted(done.stdout.split("\n")) == ["", "worker 0", "worker 1"]
        assert "no step after a warm-up" in done.stderr
    kept = folder / "kept"
    done = shell(folder, f"{sys.executable} train.py spawn", "--keep", str(kept), RANKS="1")
    assert done.returncode == 0, done.stderr
    assert len(list(kept.iterdir())) == 2


def test_a_recording_is_packed_where_its_name_says_so(folder: Path) -> None:
    kept = folder / "kept.json.gz"
    run(folder, TRAINING.format(steps=9, code=0), "--keep", str(kept))
    assert b"ran_3" in gzip.decompress(kept.read_bytes())


def test_a_place_that_becomes_unwritable_is_not_called_kept(folder: Path) -> None:
    place = folder / "place"
    place.mkdir()
    removes = f"import os; os.rmdir({str(place)!r})\n"
    done = run(folder, removes + TRAINING.format(steps=9, code=0), "--keep", str(place / "x.json"))
    assert "cannot be written" in done.stderr
    assert "is kept" not in done.stderr
    assert "ran_3" in done.stderr


def test_an_own_sitecustomize_is_still_run(folder: Path) -> None:
    (folder / "site" / "sitecustomize.py").write_text("print('own')")
    done = run(folder, TRAINING.format(steps=9, code=0))
    assert done.stdout.startswith("own\n")
    assert "ran_3" in done.stderr


@pytest.mark.usefixtures("default_signals")
def test_signals_reach_the_program(folder: Path) -> None:
    (folder / "train.py").write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "open(sys.argv[1], 'w').close()\n"
        "time.sleep(30)\n"
    )
    ready = folder / "ready"
    line = [sys.executable, "-m", "gpuadvise", "run", "--", sys.executable]
    process = subprocess.Popen(
        [*line, str(folder / "train.py"), str(ready)],
        env=environment(folder),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        for _ in range(300):
            if ready.exists():
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 5
    assert not list((folder / "tmp").iterdir())


def test_keys_of_the_terminal_reach_the_program_once(folder: Path) -> None:
    (folder / "train.py").write_text(
        "import signal, sys, time\n"
        "times = []\n"
        "signal.signal(signal.SIGINT, lambda *_: times.append(1))\n"
        "print('ready', flush=True)\n"
        "while not times: time.sleep(0.05)\n"
        "time.sleep(1)\n"
        "print('times', len(times), flush=True)\n"
        "sys.exit(9)\n"
    )
    line = [sys.executable, "-m", "gpuadvise", "run", "--", sys.executable]
    child, terminal = pty.fork()
    if not child:
        os.close(0)
        os.open(os.devnull, os.O_RDONLY)  # input from elsewhere, keys from the terminal
        os.execve(line[0], [*line, str(folder / "train.py")], environment(folder))
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    with suppress(OSError):  # a terminal that everybody left
        while more := os.read(terminal, 1000):
            said += more
    assert b"times 1" in said
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    os.close(terminal)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (["no-such-program"], 2, "is not a program"),
        (["train.py"], 2, "gpuadvise run -- python SCRIPT"),
        (["true"], 3, "neither nsys nor ncu"),
    ],
)
def test_programs_that_cannot_be_recorded(
    folder: Path, line: list[str], code: int, words: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise", "run", "--", *line],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert words in done.stderr


def test_a_place_that_cannot_be_kept_is_refused_before_the_program_runs(folder: Path) -> None:
    done = run(folder, TRAINING.format(steps=9, code=0), "--keep", str(folder / "no" / "trace"))
    assert done.returncode == 2
    assert not done.stdout


def test_nsight_systems_records_what_is_no_python(folder: Path) -> None:
    nsys = folder / "bin" / "nsys"
    nsys.parent.mkdir()
    nsys.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = export ]; then cp "$TRACE" "$6"; exit; fi\n'
        'while [ "$1" != --output ]; do shift; done; shift 2; exec "$@"\n'
    )
    nsys.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise", "run", "--", "sh", "-c", "echo out; exit 6"],
        env=environment(folder, PATH=f"{nsys.parent}:/usr/bin:/bin"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 6
    assert done.stdout == "out\n"
    assert "50 % of 40 us" in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_pytorch_itself(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\nmodel = torch.nn.Linear(4, 4)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(9):\n    model(torch.rand(2, 4)).sum().backward()\n    optimizer.step()\n"
    )
    kept = tmp_path / "trace.json"
    line = [sys.executable, "-m", "gpuadvise", "run", "--keep", str(kept), "--", sys.executable]
    subprocess.run([*line, str(program)], capture_output=True, timeout=120, check=True)
    assert "ProfilerStep#" in kept.read_text()

"""What a run loads and keeps, seen in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from command_cases import V1

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules")))}
#: Loaded only where an edit is made, a bar is shown or a finding is printed.
HEAVY = {
    "ast",
    "difflib",
    "importlib.metadata",
    "json",
    "libcst",
    "packaging",
    "reducer_migrate.engine",
    "reducer_rules",
    "rich",
    "subprocess",
    "tempfile",
    "tomllib",
}

PROBE = """
import resource, sys
from reducer_migrate.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit as exit:
    code = exit.code
modules = [name for name in sys.modules]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
# On Linux that counts the parent, too, from before the exec; this is the program alone.
if sys.platform == "linux":
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
with open("probe.json", "w") as file:
    print('{"code": %d, "peak": %d, "modules": %s}' % (code, peak, str(modules).replace("'", '"')),
          file=file)
"""


class Probe:
    """A run in a fresh process: its exit code, its modules, and its peak memory in MiB."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, *arguments],
            cwd=directory,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
        )
        self.error = done.stderr
        data = json.loads((directory / "probe.json").read_text())
        self.code: int = data["code"]
        self.peak: float = data["peak"] / (1 if sys.platform == "darwin" else 1024)
        self.heavy = HEAVY & set(data["modules"])


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    probe = Probe(tmp_path, "--help")
    assert (probe.code, probe.heavy - {"ast"}) == (0, set())


def test_files_without_reducers_load_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    (tmp_path / ".gitignore").write_text("build/\n")
    probe = Probe(tmp_path, ".")
    # click imports inspect, and that imports ast.
    assert (probe.code, probe.heavy - {"ast"}) == (0, set())


def test_a_check_loads_no_libcst(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(V1)
    probe = Probe(tmp_path, "--check", "--tilelang", "0.1.15", "k.py")
    assert probe.code == 1
    assert probe.heavy.isdisjoint({"libcst", "rich", "difflib"})
    assert "reducer_migrate.engine" in probe.heavy


def test_one_file_with_reducers_is_linted_cold_in_half_a_second(tmp_path: Path) -> None:
    """The time of the processor, which a busy machine does not stretch; with all rules."""
    (tmp_path / "k.py").write_text(V1)
    compiled = {**ENVIRONMENT, "PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    compiled.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "reducer_migrate", "--check", "--tilelang", "0.1.13", "k.py"]
    times = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=tmp_path, env=compiled, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "RM104" in done.stdout
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    # The first run compiles the modules, which an installer does.
    assert min(times[1:]) < 0.6


def test_memory_does_not_grow_with_the_tree(tmp_path: Path) -> None:
    """Thousands of small files, and one that is larger than the memory allowed."""
    filler = "x = 1\n" * 200
    for package in range(60):
        (tmp_path / f"p{package}").mkdir()
        for module in range(50):
            (tmp_path / f"p{package}" / f"m{module}.py").write_text(filler)
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(300 << 20)
    (tmp_path / "k.py").write_text(V1)
    probe = Probe(tmp_path, "--tilelang", "0.1.15", ".")
    assert probe.code == 0, probe.error
    assert probe.peak < 100
    assert "3,002 files checked" in probe.error


def _on_a_terminal(directory: Path, script: str, **environment: str) -> str:
    """What a process prints whose standard streams are a terminal."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=directory,
        env={**ENVIRONMENT, "TERM": "xterm-256color", **environment},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # The terminal's last user is gone.
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(controller)
    return shown.decode()


RUN = "import sys; from reducer_migrate.__main__ import main; main(['--check', '.'])"
#: Every file takes longer than the patience of the progress bar.
SLOW = (
    "import time; from reducer_migrate import run\n"
    "read = run.read_candidate\n"
    "def slow(path): time.sleep(0.6); return read(path)\n"
    "run.read_candidate = slow\n"
)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "k.py").write_text(V1)
    (tmp_path / "requirements.txt").write_text("tilelang==0.1.15\n")
    return tmp_path


def test_colour_on_a_terminal_only(kernel: Path) -> None:
    assert "\x1b[1;31merror[RM101]\x1b[0m" in _on_a_terminal(kernel, RUN, NO_COLOR="")
    assert "\x1b[" not in _on_a_terminal(kernel, RUN, NO_COLOR="1")
    assert "\x1b[" not in _on_a_terminal(kernel, RUN, NO_COLOR="", TERM="dumb")
    piped = subprocess.run(
        [sys.executable, "-c", RUN], cwd=kernel, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert "\x1b[" not in piped.stdout + piped.stderr


def test_a_bar_after_a_second_and_not_before(kernel: Path) -> None:
    for number in range(3):
        (kernel / f"a{number}.py").write_text("")
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" not in _on_a_terminal(kernel, RUN)
    shown = _on_a_terminal(kernel, SLOW + RUN)
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in shown
    assert "error[RM101]" in shown
    piped = subprocess.run(
        [sys.executable, "-c", SLOW + RUN],
        cwd=kernel,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" not in piped.stderr


def test_a_reader_that_goes_away_does_not_stop_the_rewriting(tmp_path: Path) -> None:
    from command_cases import REFUSED, V2

    (tmp_path / "requirements.txt").write_text("tilelang==0.1.15\n")
    for number in range(200):
        (tmp_path / f"a{number:03}.py").write_text(REFUSED)
    (tmp_path / "z.py").write_text(V1)
    process = subprocess.Popen(
        [sys.executable, "-m", "reducer_migrate", "."],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    error = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 1
    assert "Traceback" not in error
    assert "BrokenPipe" not in error
    assert (tmp_path / "z.py").read_text() == V2


@pytest.mark.parametrize(
    ("arguments", "code", "last"),
    [
        (("--check", "."), 1, "error[RM107]"),
        (("--help",), 0, "up from each file."),
        (("rules",), 0, ""),
        (("--chek", "."), 2, ""),
    ],
)
def test_a_process_ends_with_its_code_and_everything_it_printed(
    kernel: Path, arguments: tuple[str, ...], code: int, last: str
) -> None:
    """The process exits without the interpreter's own clean-up, which would flush."""
    done = subprocess.run(
        [sys.executable, "-m", "reducer_migrate", *arguments],
        cwd=kernel,
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": ""},
        capture_output=True,
        text=True,
    )
    expected = _in_process(kernel, arguments)
    assert (done.returncode, done.stdout) == (code, expected)
    assert last in done.stdout


def _in_process(directory: Path, arguments: tuple[str, ...]) -> str:
    script = f"from reducer_migrate.__main__ import main; main({list(arguments)!r})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=directory,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    return done.stdout

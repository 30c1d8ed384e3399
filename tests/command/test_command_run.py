"""What the command does, prints and returns."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_cases import REFUSED, V1, V2, Command

from reducer_migrate import judge
from reducer_migrate.engine import Analysis


def _stdin(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_rewrites_in_place(command: Command) -> None:
    Path("k.py").write_text(V1)
    done = command("k.py")
    assert Path("k.py").read_text() == V2
    assert done.code == 0
    assert done.out == ""
    assert done.err == (
        "Rewrote 1 reducer in 1 file. No findings. 1 file checked.\n"
        "Judged against TileLang 0.1.15 (requirements.txt:1).\n"
    )


def test_a_second_run_changes_nothing(command: Command) -> None:
    Path("k.py").write_text(V1)
    command("k.py")
    before = os.stat("k.py")
    done = command("k.py")
    assert done.code == 0
    assert done.err.startswith("Nothing to rewrite. No findings. 1 file checked.\n")
    assert os.stat("k.py").st_mtime_ns == before.st_mtime_ns


def test_diff_prints_a_patch_and_writes_nothing(command: Command) -> None:
    Path("pkg").mkdir()
    Path("pkg/k.py").write_text(V1)
    Path("pkg/r.py").write_text(REFUSED)
    done = command("--diff", "pkg")
    assert done.code == 1
    assert Path("pkg/k.py").read_text() == V1
    assert done.out.startswith("--- a/pkg/k.py\n+++ b/pkg/k.py\n@@ ")
    assert "pkg/r.py" not in done.out
    assert "pkg/r.py:10:13: error[RM" in done.err
    assert "Would rewrite 1 reducer in 1 file." in done.err
    subprocess.run(["git", "apply", "-"], input=done.out.encode(), check=True)
    assert Path("pkg/k.py").read_text() == V2


def test_check_says_what_is_pending_and_writes_nothing(command: Command) -> None:
    Path("k.py").write_text(V1)
    done = command("--check", "k.py")
    assert done.code == 1
    assert Path("k.py").read_text() == V1
    lines = done.out.split("\n")
    assert lines[0].startswith("k.py:7:15: error[RM101]: ")
    assert lines[2] == (
        '7 |         acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")'
    )
    assert done.err.startswith("Would rewrite 1 reducer in 1 file. 4 findings (4 errors).")


def test_what_is_refused_keeps_its_bytes_and_fails(command: Command) -> None:
    Path("r.py").write_text(REFUSED)
    done = command("r.py")
    assert done.code == 1
    assert Path("r.py").read_text() == REFUSED
    assert done.out.startswith("r.py:10:13: error[RM202]: ")
    assert "10 |             acc[0] *= A[i]\n   |             ^^^^^^ " in done.out
    assert "Nothing to rewrite. 1 finding (1 error)." in done.err


def test_one_refusal_does_not_stop_the_others(command: Command) -> None:
    Path("a.py").write_text(REFUSED)
    Path("b.py").write_text(V1)
    assert command(".").code == 1
    assert Path("b.py").read_text() == V2


def test_an_older_release_is_not_broken(command: Command) -> None:
    Path("requirements.txt").write_text("tilelang==0.1.13\n")
    Path("k.py").write_text(V1)
    done = command("k.py")
    assert done.code == 1
    assert Path("k.py").read_text() == V1
    assert "error[RM005]: not rewritten: TileLang 0.1.13 has no v2 reducers" in done.out
    assert "--with-compat" in done.out
    assert "Judged against TileLang 0.1.13 (requirements.txt:1)." in done.err


def test_with_compat_rewrites_for_an_older_release(command: Command) -> None:
    Path("requirements.txt").write_text("tilelang==0.1.13\n")
    Path("k.py").write_text(V1)
    assert command("--with-compat", "k.py").code == 0
    assert sorted(set(Path("k.py").read_text().split("\n")) - set(V2.split("\n"))) == [
        next(line for line in Path("k.py").read_text().split("\n") if "reducer_compat" in line)
    ]


def test_the_release_on_the_command_line_goes_first(command: Command) -> None:
    Path("requirements.txt").write_text("tilelang==0.1.13\n")
    Path("k.py").write_text(V1)
    done = command("--tilelang", "0.1.14", "k.py")
    assert done.code == 0
    assert Path("k.py").read_text() == V2
    assert "Judged against TileLang 0.1.14 (--tilelang)." in done.err


def test_the_dialects_convert_into_each_other(command: Command) -> None:
    Path("k.py").write_text(V2)
    assert command("--dialect", "rfc", "k.py").code == 0
    assert "T.reducer_update(acc, 0, A[i])" in Path("k.py").read_text()
    assert command("--tilelang", "any", "k.py").code == 0
    assert "T.reducer_update(acc, 0, A[i])" in Path("k.py").read_text()
    assert command("--dialect", "shipped", "k.py").code == 0
    assert "T.reducer_update(acc[0], A[i])" in Path("k.py").read_text()


def test_strict_fails_on_notes(command: Command) -> None:
    Path("requirements.txt").write_text("tilelang==0.1.13\n")
    Path("k.py").write_text(V1)
    assert command("--check", "k.py").code == 0
    assert command("--check", "--strict", "k.py").code == 1


def test_quiet_leaves_the_findings(command: Command) -> None:
    Path("r.py").write_text(REFUSED)
    done = command("--quiet", "r.py")
    assert "error[RM202]" in done.out
    assert done.err == ""


def test_files_without_reducers_are_passed_over(command: Command) -> None:
    Path("broken.py").write_text("def (\n")
    Path("plain.py").write_text("x = 1\n")
    done = command(".")
    assert (done.code, done.out) == (0, "")
    assert done.err == "Nothing to rewrite. No findings. 2 files checked.\n"


def test_a_file_with_several_names_is_done_once(command: Command) -> None:
    Path("a.py").write_text(V1)
    os.link("a.py", "b.py")
    os.symlink("a.py", "c.py")
    done = command("--check", ".", "a.py")
    assert "Would rewrite 1 reducer in 1 file." in done.err
    command(".")
    assert Path("b.py").read_text() == V2
    assert os.path.islink("c.py")


def test_bytes_around_the_edit_are_kept(command: Command) -> None:
    raw = b"\xef\xbb\xbf" + V1.replace("\n", "\r\n").encode().rstrip()
    Path("k.py").write_bytes(raw)
    assert command("k.py").code == 0
    assert Path("k.py").read_bytes() == (
        b"\xef\xbb\xbf" + V2.replace("\n", "\r\n").encode().rstrip()
    )


def test_exclude_holds_for_named_files(command: Command) -> None:
    Path("k.py").write_text(V1)
    assert command("--exclude", "k.py", "k.py").code == 0
    assert Path("k.py").read_text() == V1


def test_stdin_to_stdout(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, V1.encode())
    done = command("-")
    assert (done.code, done.out) == (0, V2)
    assert "Rewrote 1 reducer" in done.err


def test_stdin_that_cannot_be_rewritten_comes_out_unchanged(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stdin(monkeypatch, REFUSED.encode())
    done = command("-")
    assert (done.code, done.out) == (1, REFUSED)
    assert "<stdin>:10:13: error[RM202]" in done.err


@pytest.mark.parametrize("raw", [b"x = 1\r\n", b"", b"alloc_reducer(\n", b"\xff alloc_reducer"])
def test_stdin_is_never_lost(command: Command, monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    _stdin(monkeypatch, raw)
    done = command("-")
    assert done.raw == raw
    assert done.code == (2 if b"alloc_reducer" in raw else 0)


def test_check_of_stdin_prints_findings_only(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stdin(monkeypatch, V1.encode())
    done = command("--check", "-")
    assert done.code == 1
    assert done.out.startswith("<stdin>:7:15: error[RM101]")


def test_diff_of_stdin(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, V1.encode())
    done = command("--diff", "-")
    assert done.code == 1
    assert done.out.startswith("--- a/<stdin>\n+++ b/<stdin>\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a file or a directory, `.` for the current one, or `-` for stdin."),
        (("-", "k.py"), "`-` (stdin) cannot be combined with other paths."),
        (("--tilelang", "newest", "."), "not a TileLang release: 'newest'"),
        (("--dialect", "v2", "."), "'v2' is not one of 'shipped', 'rfc'."),
        (("--chek", "."), "--chek"),
    ],
)
def test_errors_of_use(command: Command, arguments: tuple[str, ...], message: str) -> None:
    done = command(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err


def test_the_version(command: Command) -> None:
    assert command("--version").out == "reducer-migrate, version 0.1.0\n"


def test_an_internal_error_is_said_without_a_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> Analysis:
        raise KeyError("lost")

    monkeypatch.setattr(judge, "analyse", fail)
    Path("k.py").write_text(V1)
    done = command("k.py")
    assert done.code == 2
    assert done.out == (
        "k.py:1:1: error[RM007]: internal error: KeyError: 'lost'\n"
        "  = help: this is a bug in reducer-migrate: run with `--debug` and report the traceback\n"
    )
    assert "Traceback" not in done.err
    assert "Traceback" in command("--debug", "k.py").err


def test_an_interrupt_ends_the_run_without_a_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object) -> Analysis:
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "analyse", interrupt)
    Path("k.py").write_text(V1)
    done = command("k.py")
    assert done.code == 130
    assert "Traceback" not in done.err
    assert Path("k.py").read_text() == V1


def test_a_source_tree_that_is_not_installed_says_how_to_install_it() -> None:
    root = Path(__file__).resolve().parents[2]
    alone = "import sys; sys.modules['reducer_rules'] = None\n"
    code = f"{alone}from reducer_migrate.__main__ import main\nmain(['k.py'])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"error: reducer_migrate runs from {root}, which is not installed: pip install -e {root}\n"
    )

"""Files that cannot be dealt with are said by name; the others are done; the run ends with 2."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_cases import V1, V2, Command

from reducer_migrate.files import read, walk

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _others_are_done(command: Command) -> Iterator[None]:
    """A good file beside the bad one, rewritten by the end of every test here."""
    Path("zz.py").write_text(V1)
    yield
    assert Path("zz.py").read_text() == V2


def test_a_file_that_does_not_parse(command: Command) -> None:
    Path("bad.py").write_text("import a\nT.alloc_reducer((1,)\nx = = 1\n")
    done = command(".")
    assert done.code == 2
    assert done.out.startswith("bad.py:2:16: error[RM001]: the file does not parse: ")
    assert "2 | T.alloc_reducer((1,)\n  |                ^" in done.out
    assert "1 file skipped because of an error." in done.err


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"x = 1\ny = 2\n# alloc_reducer \xff\n", "'utf-8' codec can't decode byte 0xff"),
        (b"# coding: latin-2000\n# alloc_reducer\n", "unknown encoding"),
        (b"\xef\xbb\xbf# coding: latin-1\n# alloc_reducer\n", "encoding problem"),
    ],
)
def test_a_file_that_is_no_text(command: Command, raw: bytes, reason: str) -> None:
    Path("bad.py").write_bytes(raw)
    done = command(".")
    assert done.code == 2
    assert done.out.startswith("bad.py:1:1: error[RM002]: the file cannot be decoded: ")
    assert reason in done.out
    assert "save the file as UTF-8" in done.out
    assert Path("bad.py").read_bytes() == raw


def test_a_path_that_does_not_exist(command: Command) -> None:
    done = command("missing.py", "zz.py")
    assert done.code == 2
    assert done.out.startswith(
        "missing.py:1:1: error[RM003]: the file cannot be read: it does not exist\n"
    )


def test_a_loop_of_links(command: Command) -> None:
    os.symlink("b.py", "a.py")
    os.symlink("a.py", "b.py")
    done = command("a.py", "zz.py")
    assert done.code == 2
    assert "a.py:1:1: error[RM003]: the file cannot be read: it is a loop of symbolic" in done.out
    assert command(".").code == 2


def test_a_file_that_vanishes(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gone.py").write_text(V1)
    entries = walk._entries

    def vanish(*arguments: object) -> object:
        found = entries(*arguments)  # type: ignore[arg-type]
        Path("gone.py").unlink()
        return found

    monkeypatch.setattr(walk, "_entries", vanish)
    done = command(".")
    assert done.code == 2
    assert done.out.startswith("gone.py:1:1: error[RM003]: the file cannot be read: it does not")


def test_a_file_that_may_not_be_read(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("secret.py").write_text(V1)
    original = os.open

    def refuse(path: str, *arguments: int) -> int:
        if path == "secret.py":
            raise PermissionError(13, "Permission denied", path)
        return original(path, *arguments)

    monkeypatch.setattr(read.os, "open", refuse)
    done = command(".")
    assert done.code == 2
    assert done.out.startswith(
        "secret.py:1:1: error[RM003]: the file cannot be read: permission denied\n"
    )


def test_a_file_that_is_read_only(command: Command) -> None:
    Path("fixed.py").write_text(V1)
    os.chmod("fixed.py", 0o444)
    done = command(".")
    assert done.code == 2
    assert done.out.startswith(
        "fixed.py:1:1: error[RM004]: the file cannot be written: it is read-only\n"
    )
    assert Path("fixed.py").read_text() == V1
    assert "Rewrote 1 reducer in 1 file." in done.err


def test_a_full_disk(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("full.py").write_text(V1)
    replace = os.replace

    def fail(source: str, target: str) -> None:
        if target.endswith("full.py"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    done = command(".")
    assert done.code == 2
    assert "full.py:1:1: error[RM004]: the file cannot be written: No space left on dev" in done.out
    assert Path("full.py").read_text() == V1
    assert not list(Path().glob(".full.py*"))


def test_a_pipe(command: Command) -> None:
    os.mkfifo("pipe.py")
    done = command("pipe.py", "zz.py")
    assert done.code == 2
    assert "pipe.py:1:1: error[RM003]: the file cannot be read: it is not a regular" in done.out


def test_the_backup_of_an_interrupted_run(command: Command) -> None:
    Path("k.py").write_text("half of it")
    Path(".k.py.reducer-migrate-backup").write_text(V1)
    done = command(".")
    assert done.code == 2
    assert done.out == (
        ".k.py.reducer-migrate-backup:1:1: error[RM004]: "
        "an interrupted run left this backup of k.py\n"
        "  = help: compare the two; to go back: `cat '.k.py.reducer-migrate-backup' > 'k.py'`, "
        "then delete the backup\n"
    )


def test_names_that_are_no_text(command: Command) -> None:
    name = os.fsdecode(b"odd\xff.py")
    Path(name).write_text("alloc_reducer(\n")
    done = command(".")
    assert done.code == 2
    assert done.out.startswith("odd\\xff.py:1:14: error[RM001]")


def _bound_by_permissions() -> list[str]:
    """The start of a command line that holds root to the permission bits too."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("permission bits do not bind root, and setpriv is not installed")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def test_permissions_that_bind(command: Command) -> None:
    for name in ("secret.py", "mine.py", "hidden/inner.py", "shut/kernel.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(V1)
    os.chmod("secret.py", 0o000)
    os.chmod("hidden", 0o000)
    os.chmod("shut", 0o500)
    done = subprocess.run(
        [*_bound_by_permissions(), sys.executable, "-m", "reducer_migrate", "."],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules")))},
    )
    os.chmod("hidden", 0o700)
    os.chmod("shut", 0o700)
    assert done.returncode == 2, done.stderr
    assert [line for line in done.stdout.split("\n") if "error[" in line] == [
        "hidden:1:1: error[RM003]: the file cannot be read: permission denied",
        "secret.py:1:1: error[RM003]: the file cannot be read: permission denied",
        "shut/kernel.py:1:1: error[RM004]: the file cannot be written: Permission denied",
    ]
    assert Path("mine.py").read_text() == V2
    assert Path("shut/kernel.py").read_text() == V1
    assert "Traceback" not in done.stderr

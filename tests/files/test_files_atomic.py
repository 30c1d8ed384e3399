"""Replacing a file: old or new at any moment, and otherwise as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from reducer_migrate.files.atomic import ChangedError, ReadOnlyError, replace_content

OLD, NEW = b"old content\n" * 50, b"new\r\n"
ROOT = Path(__file__).resolve().parents[2]

#: Runs one replacement and kills itself right before, or right after, the nth call of the
#: operating system that can change a file; a written block is cut in two by its kill.
KILLED = """
import os, signal, sys
from reducer_migrate.files.atomic import replace_content

path, step, after = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "after"
calls = 0

def trap(name):
    original = getattr(os, name)
    def trapped(*arguments, **options):
        global calls
        calls += 1
        if calls == step and not after:
            if name == "write":
                original(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if calls == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(os, name, trapped)

for name in ("open", "write", "fsync", "close", "replace", "unlink", "fchmod", "fchown",
             "ftruncate", "lseek", "setxattr"):
    trap(name)
with open(path, "rb") as file:
    old = file.read()
replace_content(path, old, sys.argv[4].encode().decode("unicode_escape").encode())
"""


def _killed(path: Path, step: int, when: str) -> bool:
    """Whether the replacement was killed at that step, rather than done before it."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(step), when, "new\\r\\n"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, -9), done.stderr.decode()
    return done.returncode == -9


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_leaves_the_old_or_the_new_file(tmp_path: Path, when: str) -> None:
    step, outcomes = 0, set()
    killed = True
    while killed:
        step += 1
        path = tmp_path / f"kernel_{step}.py"
        path.write_bytes(OLD)
        killed = _killed(path, step, when)
        outcomes.add(path.read_bytes())
    assert step > 6
    assert outcomes == {OLD, NEW}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_writing_in_place_leaves_a_whole_backup(tmp_path: Path, when: str) -> None:
    step, halves = 0, 0
    killed = True
    while killed:
        step += 1
        path, other = tmp_path / f"kernel_{step}.py", tmp_path / f"other_{step}.py"
        path.write_bytes(OLD)
        os.link(path, other)
        killed = _killed(path, step, when)
        content = path.read_bytes()
        assert other.read_bytes() == content
        if content not in (OLD, NEW):
            halves += 1
            backup = tmp_path / f".kernel_{step}.py.reducer-migrate-backup"
            assert backup.read_bytes() == OLD
    assert step > 10
    # The content does pass through a half-written state, or this would show nothing.
    assert halves > 0


def test_mode_and_time_of_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    path.chmod(0o2751)
    replace_content(str(path), OLD, NEW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o2751
    assert path.read_bytes() == NEW
    assert os.listdir(tmp_path) == ["a.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another user takes root")
def test_ownership_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    os.chown(path, 1234, 4321)
    replace_content(str(path), OLD, NEW)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_a_file_whose_owner_cannot_be_given_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    before = path.stat()
    fstat = os.fstat

    def stranger(descriptor: int) -> os.stat_result:
        fields = list(fstat(descriptor))
        fields[4] += 1
        return os.stat_result(fields)

    def refuse(descriptor: int, user: int, group: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fstat", stranger)
    monkeypatch.setattr(os, "fchown", refuse)
    replace_content(str(path), OLD, NEW)
    assert path.read_bytes() == NEW
    assert path.stat().st_ino == before.st_ino
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_symlink_stays_and_its_target_changes(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.py"
    target.write_bytes(OLD)
    (tmp_path / "link.py").symlink_to("real/a.py")
    replace_content(str(tmp_path / "link.py"), OLD, NEW)
    assert os.readlink(tmp_path / "link.py") == "real/a.py"
    assert target.read_bytes() == NEW
    assert sorted(os.listdir(tmp_path)) == ["link.py", "real"]


def test_hard_links_stay_one_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_bytes(OLD)
    os.link(first, second)
    replace_content(str(first), OLD, NEW)
    assert second.read_bytes() == NEW
    assert first.stat().st_ino == second.stat().st_ino
    assert sorted(os.listdir(tmp_path)) == ["a.py", "b.py"]


def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    replace_content(str(path), OLD, NEW)
    assert os.getxattr(path, "user.note") == b"mine"


def test_a_file_marked_read_only_is_refused_to_root_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    path.chmod(0o444)
    with pytest.raises(ReadOnlyError):
        replace_content(str(path), OLD, NEW)
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == ["a.py"]


def test_an_edit_made_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"edited meanwhile\n")
    with pytest.raises(ChangedError):
        replace_content(str(path), OLD, NEW)
    assert path.read_bytes() == b"edited meanwhile\n"


@pytest.mark.parametrize("name", ["write", "fsync", "replace", "open"])
@pytest.mark.parametrize("links", [1, 2])
def test_a_failure_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, links: int
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    names = ["a.py"]
    if links == 2:
        os.link(path, tmp_path / "b.py")
        names.append("b.py")

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fail)
        with pytest.raises(OSError, match="No space left on device"):
            replace_content(str(path), OLD, NEW)
    assert path.read_bytes() == OLD
    assert sorted(os.listdir(tmp_path)) == names


def test_a_failure_in_the_middle_of_writing_in_place_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    os.link(path, tmp_path / "b.py")
    truncate = os.ftruncate

    def fail_once(descriptor: int, length: int) -> None:
        if length == len(NEW):
            raise OSError(5, "Input/output error")
        truncate(descriptor, length)

    monkeypatch.setattr(os, "ftruncate", fail_once)
    with pytest.raises(OSError, match="Input/output error"):
        replace_content(str(path), OLD, NEW)
    assert path.read_bytes() == OLD
    assert sorted(os.listdir(tmp_path)) == ["a.py", "b.py"]


def test_the_backup_of_an_earlier_run_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    os.link(path, tmp_path / "b.py")
    backup = tmp_path / ".a.py.reducer-migrate-backup"
    backup.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        replace_content(str(path), OLD, NEW)
    assert backup.read_bytes() == b"precious"
    assert path.read_bytes() == OLD

"""Which files a run looks at."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reducer_migrate.files.ignore import Patterns
from reducer_migrate.files.walk import Found, Leftover, Unreachable, walk


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("")


def _found(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [item.path for item in walk(paths, Patterns(exclude, os.getcwd()))]


def test_sorted_and_python_only() -> None:
    _write("b.py", "a/z.py", "a/b/c.py", "a.py", "c.txt", "stub.pyi", "a-b.py")
    assert _found(".") == ["a/b/c.py", "a/z.py", "a-b.py", "a.py", "b.py"]


@pytest.mark.parametrize("root", ["pkg", "pkg/", "./pkg", ".//pkg//"])
def test_paths_start_as_they_were_given(root: str) -> None:
    _write("pkg/a.py")
    assert _found(root) == ["pkg/a.py"]


def test_an_absolute_directory_gives_absolute_paths(tmp_path: Path) -> None:
    _write("a.py")
    assert _found(str(tmp_path)) == [str(tmp_path / "a.py")]


def test_hidden_directories_environments_and_caches_are_left_out() -> None:
    _write(".git/a.py", ".venv/a.py", "node_modules/a.py", "__pycache__/a.py", ".hidden.py")
    _write("my_environment/pyvenv.cfg", "my_environment/lib/a.py")
    assert _found(".") == [".hidden.py"]


def test_a_named_directory_is_searched_whatever_its_name() -> None:
    _write(".venv/pyvenv.cfg", ".venv/a.py")
    assert _found(".venv") == [".venv/a.py"]


def test_gitignore_of_the_directories_above_holds_up_to_the_repository() -> None:
    _write("repo/.git/HEAD", "repo/pkg/gen/a.py", "repo/pkg/b.py")
    Path(".gitignore").write_text("b.py\n")
    Path("repo/.gitignore").write_text("gen/\n")
    assert _found("repo/pkg") == ["repo/pkg/b.py"]


def test_a_nested_repository_has_rules_of_its_own() -> None:
    _write(".git/HEAD", "sub/.git/HEAD", "sub/a.py", "a.py")
    Path(".gitignore").write_text("a.py\n")
    assert _found(".") == ["sub/a.py"]


def test_info_exclude_holds_in_a_linked_worktree(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run([*git, "init", "-q", "main"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "m"], cwd="main", check=True)
    subprocess.run([*git, "worktree", "add", "-q", "../linked"], cwd="main", check=True)
    Path("main/.git/info").mkdir(exist_ok=True)
    Path("main/.git/info/exclude").write_text("scratch.py\n")
    _write("linked/scratch.py", "linked/kept.py")
    assert _found("linked") == ["linked/kept.py"]


def test_a_named_file_needs_no_suffix_and_no_gitignore() -> None:
    _write("script", "a.py")
    Path(".gitignore").write_text("a.py\n")
    assert _found("script", "a.py") == ["script", "a.py"]


def test_exclude_holds_for_named_files_too() -> None:
    _write("vendor/a.py", "src/a.py", "src/x_gen.py")
    patterns = ("vendor/", "*_gen.py")
    assert _found("vendor/a.py", "src/x_gen.py", "src/a.py", exclude=patterns) == ["src/a.py"]
    assert _found(".", exclude=patterns) == ["src/a.py"]
    assert _found("vendor", exclude=patterns) == []


def test_linked_directories_are_not_followed_and_linked_files_are() -> None:
    _write("real/a.py", "tree/b.py")
    os.symlink("../real", "tree/linked")
    os.symlink("..", "tree/up")
    os.symlink("../real/a.py", "tree/c.py")
    assert _found("tree") == ["tree/b.py", "tree/c.py"]


def test_a_named_link_to_a_directory_is_followed() -> None:
    _write("real/a.py")
    os.symlink("real", "linked")
    assert _found("linked") == ["linked/a.py"]


def test_loops_and_dangling_links_are_said_by_name() -> None:
    _write("tree/z.py")
    os.symlink("loop.py", "tree/loop.py")
    os.symlink("round", "tree/round")
    os.symlink("nothing.py", "tree/gone.py")
    os.symlink("user@host.1", "tree/.#z.py")
    items = list(walk(["tree"], Patterns([], os.getcwd())))
    assert [(type(item), item.path) for item in items] == [
        (Unreachable, "tree/gone.py"),
        (Unreachable, "tree/loop.py"),
        (Unreachable, "tree/round"),
        (Found, "tree/z.py"),
    ]


def test_a_pipe_is_no_file() -> None:
    _write("a.py")
    os.mkfifo("pipe.py")
    assert _found(".") == ["a.py"]


def test_a_directory_that_cannot_be_read_is_said_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _write("a/a.py", "b/b.py")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    items = list(walk(["."], Patterns([], os.getcwd())))
    assert [(type(item), item.path) for item in items] == [(Unreachable, "a"), (Found, "b/b.py")]


def test_the_backup_of_an_interrupted_run_is_noticed() -> None:
    _write("pkg/.a.py.reducer-migrate-backup")
    items = list(walk(["."], Patterns([], os.getcwd())))
    assert items == [Leftover("pkg/.a.py.reducer-migrate-backup")]


def test_very_deep_trees_are_walked(tmp_path: Path) -> None:
    depth = 1200
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    Path("deep.py").write_text("")
    deepest = os.open(".", os.O_RDONLY)
    os.chdir(tmp_path)
    try:
        assert _found(".") == ["d/" * depth + "deep.py"]
    finally:
        # Too deep for pytest to clear away.
        os.chdir(deepest)
        os.close(deepest)
        os.unlink("deep.py")
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")

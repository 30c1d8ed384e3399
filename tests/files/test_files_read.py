"""Reading a file only as far as it matters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reducer_migrate.files.read import NotRegularError, read_candidate

MEBIBYTE = 1 << 20


def test_a_file_without_a_reducer_is_no_candidate(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"reducer = 1\n")
    assert read_candidate(str(path)) is None


@pytest.mark.parametrize(
    "name", [b"alloc_reducer", b"finalize_reducer", b"reducer_init", b"reducer_update"]
)
def test_each_operation_makes_a_candidate(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"T." + name + b"(acc)\r\n")
    content = read_candidate(str(path))
    assert content is not None
    assert content.raw == b"T." + name + b"(acc)\r\n"


@pytest.mark.parametrize("before", [0, MEBIBYTE - 4, MEBIBYTE, 3 * MEBIBYTE - 7])
def test_a_name_is_found_across_the_pieces_of_a_large_file(tmp_path: Path, before: int) -> None:
    path = tmp_path / "a.py"
    raw = b"#" * before + b"alloc_reducer" + b"#" * MEBIBYTE
    path.write_bytes(raw)
    content = read_candidate(str(path))
    assert content is not None
    assert content.raw == raw


def test_two_names_of_a_file_have_one_identity(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"alloc_reducer")
    os.link(tmp_path / "a.py", tmp_path / "b.py")
    first, second = (read_candidate(str(tmp_path / name)) for name in ("a.py", "b.py"))
    assert first is not None
    assert second is not None
    assert first.identity == second.identity


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(NotRegularError):
        read_candidate(str(tmp_path / "pipe.py"))


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_candidate(str(tmp_path))

"""Where a process finds the TileLang that it is meant to import."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reducer_migrate.verify.releases import environment


def test_a_process_finds_nothing_of_the_tilelang_that_its_parent_imported() -> None:
    pytest.importorskip("tilelang")
    left = [name for name in os.environ if name in ("TVM_LIBRARY_PATH", "TL_TEMPLATE_PATH")]
    assert left, "importing TileLang sets these"
    found = environment(Path("beside"))
    assert not set(left) & set(found)
    paths = found["PYTHONPATH"].split(os.pathsep)
    assert paths[0] == "beside"
    assert not any("tilelang" in Path(path).parts for path in paths)


def test_what_the_user_set_stays() -> None:
    given = {"PYTHONPATH": os.pathsep.join(("a", "b")), "TVM_LOG_DEBUG": "1"}
    found = environment(Path("beside"), given)
    assert found["PYTHONPATH"].split(os.pathsep) == ["beside", "a", "b"]
    assert found["TVM_LOG_DEBUG"] == "1"


def test_releases_may_share_what_they_import(tmp_path: Path) -> None:
    """The release first, then its own tvm-ffi, then what all of them import."""
    ahead = [tmp_path / name for name in ("0.1.11", "common-0.1.11", "common")]
    for path in (*ahead, tmp_path / "common-0.1.12", tmp_path / "common" / "z3" / "lib"):
        path.mkdir(parents=True)
    found = environment(tmp_path / "0.1.11", {"PYTHONPATH": "own", "LD_LIBRARY_PATH": "last"})
    assert found["PYTHONPATH"].split(os.pathsep) == [*map(str, ahead), "own"]
    libraries = found["LD_LIBRARY_PATH"].split(os.pathsep)
    assert libraries[0] == str(tmp_path / "common" / "z3" / "lib")
    assert libraries[-1] == "last"

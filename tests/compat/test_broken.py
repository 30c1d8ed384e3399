"""A TileLang that is missing, unknown, or broken by another TVM: said at import, in a new process.

The broken ones are packages that fail as the real ones did when they were tried.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OFF = "set REDUCER_COMPAT=off to go on without reducer_compat"
#: What TileLang 0.1.15 said beside apache-tvm 0.27.0.post1.
SYMBOL = "OSError('/site/tilelang/lib/libtilelang.so: undefined symbol: _ZN3tvm3ffi10TypeTable')"
#: What TileLang 0.1.8 said with apache-tvm-ffi 0.1.12.
DICT = "AttributeError(\"attribute '__dict__' of 'type' objects is not writable\")"
#: What TileLang says where z3-solver's directory is not searched.
Z3 = "OSError('libz3.so: cannot open shared object file: No such file or directory')"


@dataclass(frozen=True)
class Broken:
    """An environment: how TileLang fails in it, what is installed, and what we say of it."""

    name: str
    error: str
    packages: Mapping[str, str]
    said: tuple[str, ...]


CASES = (
    Broken(
        "another TVM",
        SYMBOL,
        {"tilelang": "0.1.15", "apache_tvm_ffi": "0.1.14", "apache_tvm": "0.27.0.post1"},
        (
            "TileLang cannot be imported: apache-tvm 0.27.0.post1 is installed beside it",
            "undefined symbol",
            "fix: uninstall apache-tvm and install apache-tvm-ffi==0.1.12, or " + OFF,
        ),
    ),
    Broken(
        "a newer tvm-ffi",
        DICT,
        {"tilelang": "0.1.8", "apache_tvm_ffi": "0.1.12"},
        (
            "TileLang 0.1.8 was tested with apache-tvm-ffi 0.1.8, this is 0.1.12",
            "fix: install apache-tvm-ffi==0.1.8, or " + OFF,
        ),
    ),
    Broken(
        "libraries that do not fit",
        SYMBOL,
        {"tilelang": "0.1.15", "apache_tvm_ffi": "0.1.12"},
        (
            "its libraries do not fit the TVM that was loaded",
            "uninstall any other TVM and install apache-tvm-ffi==0.1.12, or " + OFF,
        ),
    ),
    Broken(
        "no z3",
        Z3,
        {"tilelang": "0.1.13", "apache_tvm_ffi": "0.1.12"},
        ("libz3.so", "put the lib directory of z3-solver on LD_LIBRARY_PATH, or " + OFF),
    ),
    Broken(
        "something else",
        "RuntimeError('no such luck')",
        {"tilelang": "0.1.13", "apache_tvm_ffi": "0.1.12"},
        ("no such luck", "reinstall tilelang (0.1.8 to 0.1.15 were tested), or " + OFF),
    ),
)


def packages(place: Path, named: Mapping[str, str]) -> None:
    """What pip leaves of installed packages, as far as their versions go."""
    for name, version in named.items():
        info = place / f"{name}-{version}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
        (info / "METADATA").write_text(text)


def tilelang(place: Path, text: str) -> None:
    """A package `tilelang` of one line, found before the real one."""
    (place / "tilelang").mkdir()
    (place / "tilelang" / "__init__.py").write_text(text)
    (place / "tilelang" / "tvm.py").write_text("")


def python(code: str, *options: str, first: str = "", **variables: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a new interpreter with `first` in front of its path."""
    environ = {**os.environ, **variables}
    paths = [first, str(ROOT / "compat"), str(ROOT / "rules")]
    if not options:
        paths += sys.path
    environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


IMPORTED = "import sys, reducer_compat; print(reducer_compat.status())"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_tilelang_is_explained(tmp_path: Path, case: Broken) -> None:
    packages(tmp_path, case.packages)
    tilelang(tmp_path, f"raise {case.error}\n")
    code, _, errors = python(IMPORTED, first=str(tmp_path))
    assert code == 1
    assert "UnsupportedTileLangError: RC001 " in errors
    for part in case.said:
        assert part in errors
    code, printed, errors = python(IMPORTED, first=str(tmp_path), REDUCER_COMPAT="off")
    assert code == 0, errors
    assert "installed=False" in printed


@pytest.mark.parametrize("version", ["0.1.7.post3", "0.1.16", "0.2.0", "unknown"])
def test_an_unknown_tilelang_is_refused(tmp_path: Path, version: str) -> None:
    tilelang(tmp_path, f"__version__ = {version!r}\n")
    caught = "try:\n    import reducer_compat\nexcept ImportError as error:\n    print(error)"
    code, printed, errors = python(caught, first=str(tmp_path))
    assert code == 0, errors
    assert printed == (
        f"RC001 reducer_compat was tested on TileLang 0.1.8 to 0.1.15; this is {version}\n"
        f"  fix: install a tested TileLang, or {OFF}\n"
    )


def test_a_missing_tilelang_is_said() -> None:
    code, _, errors = python(IMPORTED, "-S")
    assert code == 1
    assert "RC001 TileLang cannot be imported: it is not installed" in errors
    assert f"fix: install tilelang (0.1.8 to 0.1.15 were tested), or {OFF}" in errors


def test_off_imports_nothing_heavy() -> None:
    heavy = "{'tilelang', 'tvm', 'torch', 'numpy'}"
    code, printed, errors = python(
        f"import sys, reducer_compat; print({heavy} & set(sys.modules))", REDUCER_COMPAT="off"
    )
    assert (code, printed) == (0, "set()\n"), errors

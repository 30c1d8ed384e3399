"""What can go wrong with a run: said clearly, with the way out, and the other kernels are run."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import pytest
from conftest import run
from verify_cases import SUM_OF_EIGHT, TROUBLED, Done

from reducer_migrate.__main__ import main
from reducer_migrate.verify import command


def _refused(folder: Path, *arguments: str) -> str:
    """What is said of an error of use: nothing is executed, and the exit code is 2."""
    done = run(folder, *arguments)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err
    assert "Executing" not in done.err
    return done.err


def test_the_file_does_not_exist(tmp_path: Path) -> None:
    said = _refused(tmp_path, "none.py")
    assert said == "Error: none.py: RM003 cannot be read: No such file or directory\n"


def test_the_file_is_no_python(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# notes\n")
    assert "notes.md: verify executes Python files (.py)" in _refused(tmp_path, "notes.md")


def test_the_file_does_not_parse(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("acc = T.alloc_reducer((1,)\ndef\n")
    assert "broken.py:1: RM001 does not parse" in _refused(tmp_path, "broken.py")


def test_the_file_does_not_decode(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    assert "latin.py: RM002 " in _refused(tmp_path, "latin.py")


def test_the_file_has_no_kernel(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("raise SystemExit('executed')\n")
    said = _refused(tmp_path, "empty.py")
    assert said == (
        "Error: empty.py: no kernel found: no function of the file allocates a reducer\n"
    )


def test_the_kernel_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "sum.py").write_text(SUM_OF_EIGHT)
    said = _refused(tmp_path, "sum.py::product")
    assert said == "Error: sum.py: no kernel `product` with a reducer; there is total\n"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--args", "M=1024,,", "'M=1024,,' is not NAME=VALUE, ..."),
        ("--args", "1024", "'1024' is not NAME=VALUE, ..."),
        ("--args", "M=f(x)", "M=f(x) is no value: give a number, a word or string, a dtype, "),
        ("--args", "M=1 N=2", "as in --args 'M=1024, tile=(16, 128), dtype=float16'"),
        ("--args", "M=1, M=2", "M is given more than once"),
        ("--args", "M=1", "M is no argument of `total`: there are no arguments"),
        ("--tilelang", "0.1.7", "verify runs TileLang 0.1.8, 0.1.9, "),
        ("--tilelang", "any", "not any"),
        ("--arch", "hopper", "'hopper' is no architecture, such as sm_75 or sm_90"),
        ("--seed", "-1", "-1 is not in the range"),
        ("--timeout", "0", "0"),
    ],
)
def test_an_option_has_no_such_value(tmp_path: Path, option: str, value: str, said: str) -> None:
    (tmp_path / "sum.py").write_text(SUM_OF_EIGHT)
    error = _refused(tmp_path, "sum.py", option, value)
    assert said in error
    assert f"Invalid value for '{option}'" in error


FACTORY = """\
import tilelang.language as T


def scaled(rows, n: int, dtype, tile=(8, 8), split=True, eps=1e-5, limit=None, threads=128):
    @T.prim_func
    def main(A: T.Tensor((rows, 2 * n), dtype), B: T.Tensor((1,), dtype)):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), dtype)
            T.finalize_reducer(acc, B)

    return main
"""
SIZE = "a size, a whole number of 0 or more"


@pytest.mark.parametrize(
    ("value", "meaning", "example"),
    [
        ("n=x", SIZE, "n=1024"),
        ("n=8.5", SIZE, "n=1024"),
        ("n=8.0", SIZE, "n=1024"),
        ("n='8'", SIZE, "n=1024"),
        ("n=-1", SIZE, "n=1024"),
        ("rows=True", SIZE, "rows=1024"),
        ("rows=(8,)", SIZE, "rows=1024"),
        ("threads=many", "a whole number", "threads=4"),
        ("split=maybe", "True or False", "split=True"),
        ("eps=small", "a number", "eps=0.5"),
        ("dtype=flaot16", "a dtype", "dtype=float16"),
        ("dtype=16", "a dtype", "dtype=float16"),
    ],
)
def test_a_value_that_an_argument_cannot_have(
    tmp_path: Path, value: str, meaning: str, example: str
) -> None:
    (tmp_path / "k.py").write_text(FACTORY)
    said = _refused(tmp_path, "k.py", "--args", value)
    name = value.partition("=")[0]
    assert said == (
        f"Error: --args gives {value}, but `{name}` of `scaled` must be {meaning}: "
        f"as in --args '{example}'\n"
    )


def test_a_value_of_the_configuration_that_an_argument_cannot_have(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(FACTORY)
    (tmp_path / "pyproject.toml").write_text('[tool.reducer-migrate.verify]\nn = "8"\n')
    said = _refused(tmp_path, "k.py")
    assert said == f"Error: pyproject.toml gives n='8', but `n` of `scaled` must be {SIZE}: 1024\n"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("N", "; did you mean n?"), ("thread", "; did you mean threads?"), ("q", "")],
)
def test_a_name_that_no_kernel_has(tmp_path: Path, name: str, meant: str) -> None:
    (tmp_path / "k.py").write_text(FACTORY)
    names = "rows, n, dtype, tile, split, eps, limit, threads"
    said = _refused(tmp_path, "k.py", "--args", f"{name}=8")
    assert f"{name} is no argument of `scaled`: the arguments are {names}{meant}\n" in said


def test_a_name_is_given_by_two_options(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(FACTORY)
    said = _refused(tmp_path, "k.py", "--args", "n=8", "--args", "n=9")
    assert "Invalid value for '--args': n is given more than once" in said


def test_the_configuration_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "sum.py").write_text(SUM_OF_EIGHT)
    (tmp_path / "pyproject.toml").write_text("[tool.reducer-migrate.verify]\nM = 2020-01-01\n")
    said = _refused(tmp_path, "sum.py")
    assert "pyproject.toml:2: 'M' must be a number, a string, a boolean, or a list" in said


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a kernel, in an environment without TileLang, torch and numpy."""

    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sum.py").write_text(SUM_OF_EIGHT)
    return tmp_path


def _said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as exit:
        main(["verify", *arguments])
    assert exit.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.usefixtures("bare")
def test_tilelang_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _said(capsys, "sum.py") == (
        "Error: RM011 TileLang is not installed: verify runs kernels with it. `pip install "
        "'reducer-migrate[compat]'` (in a clone `pip install -e '.[compat]'`) brings all it needs, "
        "and `--tilelang 0.1.15` then runs another release beside it\n"
    )


@pytest.mark.usefixtures("bare")
def test_a_release_needs_torch_from_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    said = _said(capsys, "--tilelang", "0.1.13", "sum.py")
    assert "RM011 TileLang needs torch, which is not installed" in said
    assert "pip install 'reducer-migrate[compat]'" in said


@pytest.mark.usefixtures("tilelang")
@pytest.mark.parametrize("options", [(), ("--with-compat",)])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "raise ImportError('libtilelang.so: undefined symbol: _ZN3tvm')",
            "its libraries do not fit the TVM that was loaded (libtilelang.so: undefined symbol: "
            "_ZN3tvm): uninstall any other TVM and install apache-tvm-ffi==",
        ),
        (
            "import no_such_thing",
            "No module named 'no_such_thing': `pip install 'reducer-migrate[compat]'` brings",
        ),
        ("", "No module named 'tilelang.jit'"),
    ],
)
def test_a_tilelang_that_does_not_load(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    body: str,
    said: str,
) -> None:
    """Said once for all kernels, with what mends it, whoever lowers v2."""
    (tmp_path / "sum.py").write_text(SUM_OF_EIGHT)
    broken = tmp_path / "broken" / "tilelang"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text(f"{body}\n")
    ahead = [str(tmp_path / "broken"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(ahead))
    done = run(tmp_path, "sum.py", *options)
    assert (done.code, done.out) == (2, "")
    assert "Error: RM011 TileLang does not load: " in done.err
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_release_that_pip_cannot_install_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # No index at all: pip fails at once, offline too.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setattr(command, "find_spec", lambda name: object())
    (tmp_path / "sum.py").write_text(SUM_OF_EIGHT)
    said = _said(capsys, "--tilelang", "0.1.9", "--releases", "here", "sum.py")
    assert "Installing tilelang==0.1.9 apache-tvm-ffi==0.1.8 into here/0.1.9" in said
    assert "Error: pip could not install tilelang==0.1.9 apache-tvm-ffi==0.1.8: ERROR: " in said
    assert list((tmp_path / "here").iterdir()) == []


@pytest.fixture(scope="module")
def troubled(tilelang: None, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("troubled")
    (folder / "troubled.py").write_text(TROUBLED)
    options = ("--timeout", "20", "--output-format", "json")
    return run(folder, "troubled.py", *options)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("needs", "needs rows, columns: pass for example --args 'rows=1024, columns=1024'"),
        ("misfit", "`misfit` could not be traced: ZeroDivisionError"),
        ("unsupported", "the SIMT interpreter does not know"),
        ("gives_nothing", "`gives_nothing` gives no kernel, but a NoneType"),
        ("ends", "`ends` could not be traced: SystemExit: the end"),
        ("dies", "the process ended with exit code 7"),
        ("hangs", "not done after 20 s"),
    ],
)
def test_a_kernel_that_cannot_be_run_says_why(troubled: Done, kernel: str, said: str) -> None:
    row = troubled.kernels[kernel]
    assert row["verdict"] == "not-run"
    assert said in row["reason"]


def test_a_missing_argument_is_named(troubled: Done) -> None:
    assert troubled.kernels["needs"]["missing"] == ["rows", "columns"]
    assert troubled.kernels["right"]["missing"] == []


def test_an_index_outside_shared_memory_is_a_fault(troubled: Done) -> None:
    row = troubled.kernels["outside"]
    assert row["verdict"] == "v2-wrong"
    assert "out-of-bounds" in row["reason"]
    assert row["not_counted"] == "an index outside rows_of_block: 8 of 2"


def test_a_kernel_that_is_not_rewritten_says_why(troubled: Done) -> None:
    row = troubled.kernels["refused"]
    assert row["verdict"] == "not-rewritten"
    assert row["reason"].startswith("RM202 reducer `acc` is written by `acc[0] *= ...`")


def test_the_other_kernels_are_run(troubled: Done) -> None:
    assert troubled.kernels["right"]["verdict"] == "right"
    assert troubled.code == 1
    assert troubled.err.endswith(
        "10 kernels: 1 right, 1 v2 is wrong, 1 not rewritten, 7 not run.\n"
    )


@pytest.mark.usefixtures("tilelang")
def test_a_file_that_raises_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "raises.py").write_text(f"{SUM_OF_EIGHT}\nraise KeyError('weights')\n")
    done = run(tmp_path, "raises.py")
    assert done.code == 2
    assert "total (line 5): raises.py:14: KeyError: 'weights'" in done.out


@pytest.mark.usefixtures("tilelang")
def test_there_is_no_gpu(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if torch.cuda.is_available():
        pytest.skip("torch sees a GPU")
    (tmp_path / "sum.py").write_text(SUM_OF_EIGHT)
    done = run(tmp_path, "sum.py", "--gpu")
    assert done.code == 2
    assert "Error: --gpu: torch sees no GPU" in done.err

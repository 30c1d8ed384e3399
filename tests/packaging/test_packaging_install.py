"""Every way to install: what arrives, that it runs, and that type checkers see it.

Each case installs into an environment of its own, outside the source tree, without dependencies:
those come from the environment that runs the tests.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """\
def kernel(A):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
        T.clear(acc)
        for i in T.Parallel(128):
            acc[0] += A[i]
        T.finalize_reducer(acc)
"""
USER = """\
from reducer_migrate.engine import Options, analyse
from reducer_migrate.source import Source
from reducer_rules import Release

reveal_type(analyse(Source.of(""), Options()).diagnostics)
reveal_type(Release.parse("0.1.13"))
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tracked files, so that no build touches the working tree."""
    copy = tmp_path_factory.mktemp("source") / "tree"
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def artefacts(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    _run([sys.executable, "-m", "build", "--no-isolation", "-o", str(out), str(tree)], out)
    return {"sdist": next(out.glob("*.tar.gz")), "wheel": next(out.glob("*.whl"))}


def _run(command: list[str], directory: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def _dependencies(folder: Path) -> Path:
    """What the running environment holds, less this package: an installed one would be found
    before an editable one."""
    links = folder / "dependencies"
    links.mkdir()
    for path in dict.fromkeys([sysconfig.get_path("purelib"), *site.getsitepackages()]):
        for entry in Path(path).iterdir():
            ours = entry.name.startswith(("reducer_", "__editable__"))
            if not ours and not (links / entry.name).exists():
                (links / entry.name).symlink_to(entry)
    return links


def _environment(folder: Path, *install: str) -> Path:
    """A fresh environment with the package in it; its python."""
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    own = next((folder / "env" / "lib").glob("python*")) / "site-packages"
    (own / "dependencies.pth").write_text(f"{_dependencies(folder)}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
    _run([*pip, "--no-deps", "--no-build-isolation", "--force-reinstall", *install], folder)
    return python


@pytest.fixture(params=["plain", "editable", "wheel", "sdist"])
def python(
    request: pytest.FixtureRequest, tree: Path, artefacts: dict[str, Path], tmp_path: Path
) -> Path:
    install = {
        "plain": [str(tree)],
        "editable": ["-e", str(tree)],
        "wheel": [str(artefacts["wheel"])],
        "sdist": [str(artefacts["sdist"])],
    }[request.param]
    return _environment(tmp_path, *install)


def test_the_command_and_the_module_do_the_same(python: Path, tmp_path: Path) -> None:
    for start in ([str(python.parent / "reducer-migrate")], [str(python), "-m", "reducer_migrate"]):
        (tmp_path / "k.py").write_text(KERNEL)
        shown = _run([*start, "--tilelang", "0.1.15", "k.py"], tmp_path)
        assert shown.startswith("Rewrote 1 reducer in 1 file.")
        assert "T.reducer_update(acc[0], A[i])" in (tmp_path / "k.py").read_text()


def test_what_is_imported_is_what_was_installed(python: Path, tmp_path: Path) -> None:
    script = "import reducer_migrate, reducer_rules; print(reducer_migrate.__file__)"
    shown = _run([str(python), "-c", script], tmp_path)
    assert not Path(shown.strip()).is_relative_to(ROOT / "reducer_migrate")
    assert not Path(shown.strip()).is_relative_to(ROOT / ".venv")


def test_the_wheel_holds_the_three_packages_and_nothing_else(artefacts: dict[str, Path]) -> None:
    import zipfile

    names = zipfile.ZipFile(artefacts["wheel"]).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "reducer_compat",
        "reducer_migrate",
        "reducer_rules",
    }
    for package in ("reducer_compat", "reducer_migrate", "reducer_rules"):
        assert f"{package}/py.typed" in names


@pytest.fixture(scope="module")
def wheel_python(artefacts: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _environment(tmp_path_factory.mktemp("wheel"), str(artefacts["wheel"]))


def test_mypy_sees_the_types_of_an_installed_wheel(wheel_python: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(wheel_python)]
    shown = _run([*command, "user.py"], tmp_path)
    assert 'Revealed type is "tuple[reducer_migrate.diagnostic.Diagnostic, ...]"' in shown
    assert 'Revealed type is "reducer_rules.release.Release"' in shown


def test_pyright_sees_the_types_of_an_installed_wheel(wheel_python: Path, tmp_path: Path) -> None:
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed")
    (tmp_path / "user.py").write_text(USER)
    shown = _run([pyright, "--pythonpath", str(wheel_python), "user.py"], tmp_path)
    assert 'is "tuple[Diagnostic, ...]"' in shown
    assert 'is "Release"' in shown

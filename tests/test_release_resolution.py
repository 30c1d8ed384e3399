"""Which TileLang release a project is judged against, and the place that says so."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from reducer_migrate.cli import command
from reducer_migrate.release import Releases, resolve


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository as the current directory, with no TileLang installed."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    _install(monkeypatch, None)
    return root


def _install(monkeypatch: pytest.MonkeyPatch, installed: str | None) -> None:
    folder = Path(tempfile.mkdtemp(dir=Path.cwd()))
    for name in ("tilelang_tools-9.dist-info", f"tilelang-{installed}.dist-info"):
        (folder / name).mkdir()
    if installed is None:
        (folder / "tilelang-None.dist-info").rmdir()
    # What reads the pins is loaded late, and often from the folder that is left out here.
    import packaging.requirements  # noqa: F401

    others = [path for path in sys.path if not list(Path(path or ".").glob("tilelang-*-info"))]
    monkeypatch.setattr(sys, "path", [str(folder), "/nowhere", *others])


def _resolve(explicit: str | None = None, path: str = "kernel.py") -> tuple[str | None, str]:
    resolved = Releases(explicit).of(path)
    return (str(resolved.release) if resolved.release else None, resolved.source)


@pytest.mark.parametrize(
    ("name", "text", "release", "line"),
    [
        ("requirements.txt", "torch\n# tilelang==0.1.8\ntilelang==0.1.13\n", "0.1.13", 3),
        ("requirements.txt", "tilelang==0.1.13+cu128 --hash=sha256:00\n", "0.1.13+cu128", 1),
        ("requirements.txt", "TileLang >=0.1.9,<0.1.12 # note\n", "0.1.9", 1),
        ("requirements.txt", "tilelang~=0.1.10\n", "0.1.10", 1),
        ("requirements.txt", "tilelang==0.1.*\n", "0.1.8", 1),
        ("requirements.txt", "tilelang!=0.1.8\n", "0.1.9", 1),
        ("requirements.txt", "tilelang>0.1.13\n", "0.1.14", 1),
        ("requirements.txt", "tilelang<=0.1.10\n", "0.1.8", 1),
        ("requirements.txt", "tilelang==0.1.7.post3\n", "0.1.7.post3", 1),
        ("requirements.txt", "tilelang>=0.2\n", "0.2", 1),
        ("requirements.txt", "torch\ntilelang==\\\n  0.1.11 ; python_version>'3'\n", "0.1.11", 2),
        ("requirements.txt", "tilelang[extra]==0.1.12\r\n", "0.1.12", 1),
        (
            "requirements.txt",
            "tilelang @ https://example.org/tilelang-0.1.13-cp38-abi3-linux_x86_64.whl\n",
            "0.1.13",
            1,
        ),
        ("requirements-cuda.txt", "tilelang==0.1.12\n", "0.1.12", 1),
        ("requirements/base.txt", "\ntilelang==0.1.12\n", "0.1.12", 2),
        ("constraints.txt", "tilelang==0.1.10\n", "0.1.10", 1),
        (
            "uv.lock",
            'version = 1\n\n[[package]]\nname = "tilelang"\nversion = "0.1.13"\n',
            "0.1.13",
            5,
        ),
        ("poetry.lock", '[[package]]\nname = "tilelang"\nversion = "0.1.9"\n', "0.1.9", 3),
        (
            "pyproject.toml",
            '[project]\nname = "k"\ndependencies = [\n  "torch",\n  "tilelang==0.1.13",\n]\n',
            "0.1.13",
            5,
        ),
        (
            "pyproject.toml",
            '[project.optional-dependencies]\ncuda = ["tilelang>=0.1.9"]\n',
            "0.1.9",
            2,
        ),
        ("pyproject.toml", '[dependency-groups]\ngpu = ["tilelang==0.1.11"]\n', "0.1.11", 2),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntilelang = "^0.1.10"\n', "0.1.10", 2),
        (
            "pyproject.toml",
            '[tool.poetry.group.gpu.dependencies]\ntilelang = {version = "0.1.12"}\n',
            "0.1.12",
            2,
        ),
    ],
)
def test_a_pin_is_found_with_its_line(
    project: Path, name: str, text: str, release: str, line: int
) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(text, newline="")
    assert _resolve() == (release, f"{name}:{line}")


@pytest.mark.parametrize(
    "text",
    ["tilelang\n", "tilelang-extras==0.1.1\n", "-e git+https://example.org/tilelang\n", "===\n"],
)
def test_what_pins_nothing_is_passed_over(project: Path, text: str) -> None:
    (project / "requirements.txt").write_text(text)
    assert _resolve() == (None, "none is pinned or installed")


def test_the_order_of_sources(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each source is taken once those before it say nothing; added from the last to the first."""
    _install(monkeypatch, "0.1.15+cu128")
    assert _resolve() == ("0.1.15+cu128", "installed")
    steps = [
        ("poetry.lock", 'name = "tilelang"\nversion = "0.1.8"\n', "0.1.8", "poetry.lock:2"),
        ("uv.lock", 'name = "tilelang"\nversion = "0.1.9"\n', "0.1.9", "uv.lock:2"),
        ("constraints.txt", "tilelang==0.1.10\n", "0.1.10", "constraints.txt:1"),
        ("requirements.txt", "tilelang==0.1.11\n", "0.1.11", "requirements.txt:1"),
        (
            "pyproject.toml",
            '[project]\ndependencies = ["tilelang==0.1.12"]\n',
            "0.1.12",
            "pyproject.toml:2",
        ),
    ]
    for name, text, release, source in steps:
        (project / name).write_text(text)
        assert _resolve() == (release, source)
    configured = resolve("0.1.13", "pyproject.toml:4")
    assert Releases().of("kernel.py", configured) == configured
    assert Releases("0.1.14").of("kernel.py", configured).source == "--tilelang"


def test_the_nearest_project_decides(project: Path) -> None:
    (project / "requirements.txt").write_text("tilelang==0.1.13\n")
    (project / "sub" / "pkg").mkdir(parents=True)
    (project / "sub" / "pyproject.toml").write_text('[project]\ndependencies = ["torch"]\n')
    assert _resolve(path="sub/pkg/k.py") == ("0.1.13", "requirements.txt:1")
    (project / "sub" / "requirements.txt").write_text("tilelang==0.1.14\n")
    assert _resolve(path="sub/pkg/k.py") == ("0.1.14", "sub/requirements.txt:1")


def test_the_search_ends_at_the_repository(project: Path) -> None:
    (project.parent / "requirements.txt").write_text("tilelang==0.1.8\n")
    assert _resolve() == (None, "none is pinned or installed")


def test_several_files_give_the_lowest(project: Path) -> None:
    (project / "requirements-a.txt").write_text("tilelang==0.1.14\n")
    (project / "requirements-b.txt").write_text("\ntilelang==0.1.12\n")
    assert _resolve() == ("0.1.12", "requirements-b.txt:2")


def test_any_is_a_release_one_can_ask_for(project: Path) -> None:
    (project / "requirements.txt").write_text("tilelang==0.1.13\n")
    assert _resolve("any") == (None, "--tilelang")


@pytest.mark.parametrize("text", ["new", "0.1.x.y z", "", "0..1"])
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a TileLang release"):
        Releases(text)


def test_broken_configuration_is_said_and_passed_over(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project\n")
    (project / "requirements.txt").write_text("tilelang==0.1.13\n")
    releases = Releases()
    assert releases.of("kernel.py").source == "requirements.txt:1"
    assert len(releases.problems) == 1
    assert releases.problems[0].startswith("pyproject.toml: not valid TOML, ignored: ")


def test_how_a_release_is_said(project: Path) -> None:
    (project / "requirements.txt").write_text("tilelang==0.1.13\n")
    assert str(Releases().of("k.py")) == "TileLang 0.1.13 (requirements.txt:1)"
    assert str(Releases("any").of("k.py")) == "any TileLang release (--tilelang)"


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("tilelang-0.1.13.dist-info", "0.1.13"),
        ("TileLang-0.1.7.post3.dist-info", "0.1.7.post3"),
        ("tilelang-0.1.15+cu128.gitabc.dist-info", "0.1.15+cu128.gitabc"),
        ("tilelang-0.1.9-py3.11.egg-info", "0.1.9"),
        ("tilelang_extra-0.1.9.dist-info", None),
        ("tilelang-0.1.9.data", None),
    ],
)
def test_what_names_an_installed_release(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str, release: str | None
) -> None:
    (project / "site" / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(project / "site")])

    assert _resolve()[0] == release


UNTESTED = "is no tested release (these are 0.1.8 to 0.1.15)"


def _summary(*arguments: str) -> list[str]:
    """The warnings that a run over two kernels ends with."""
    for name in ("a.py", "b.py"):
        Path(name).write_text("acc = T.alloc_reducer((1,), 'float32')\n")
    done = CliRunner().invoke(command, ["--check", *arguments, "."], standalone_mode=False)
    return [line for line in done.stderr.splitlines() if line.startswith("warning: ")]


@pytest.mark.parametrize(
    ("release", "has"),
    [
        ("9.9", "v2 reducers"),
        ("0.1.16", "v2 reducers"),
        ("0.1.13.post1", "no v2 reducers"),
        ("0.1.7", "no v2 reducers"),
        ("0.1.14rc1", "no v2 reducers"),
    ],
)
def test_a_release_that_nobody_tested_is_remarked_once(release: str, has: str) -> None:
    (said,) = _summary("--tilelang", release)
    assert said.startswith(f"warning: TileLang {release} (--tilelang) {UNTESTED}: ")
    assert f"it is taken to have {has}, " in said


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        ("requirements.txt", "tilelang==0.3\n", "requirements.txt:1"),
        ("reducer-migrate.toml", 'tilelang = "0.3"\n', "reducer-migrate.toml:1"),
        (None, "", "installed"),
    ],
)
def test_it_is_remarked_wherever_it_is_named(
    monkeypatch: pytest.MonkeyPatch, file: str | None, text: str, place: str
) -> None:
    if file is None:
        _install(monkeypatch, "0.3")
    else:
        Path(file).write_text(text)
    (said,) = _summary()
    assert said.startswith(f"warning: TileLang 0.3 ({place}) {UNTESTED}: ")


@pytest.mark.parametrize("release", ["0.1.8", "v0.1.15", "0.1.13+cu128", "any"])
def test_a_tested_release_is_not_remarked(release: str) -> None:
    assert _summary("--tilelang", release) == []


@pytest.mark.parametrize(
    "text", ["", "latest", "0..1", "0.1.15x", "==0.1.13", "0.1.13,0.1.14", "9.9.", "0.1.13 "]
)
def test_what_is_no_release_is_refused_with_an_example(text: str) -> None:
    done = CliRunner().invoke(command, ["--tilelang", text, "."])
    assert done.exit_code == 2
    assert f"not a TileLang release: {text!r} (expected for example 0.1.13, or any)" in done.stderr

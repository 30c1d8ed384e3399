"""The hooks, run by the real pre-commit program on a clone, and the files for CI systems."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
V1 = """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds this working tree, for pre-commit to clone and install."""
    folder = tmp_path_factory.mktemp("hooks")
    names = ["pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"]
    for name in names:
        shutil.copy(ROOT / name, folder / name)
    for name in ("reducer_migrate", "rules", "compat"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "hooks")
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit")


def project(folder: Path, hooks: Path, hook: str) -> Path:
    """A project that uses one hook, with a staged v1 kernel."""
    folder.mkdir()
    git(folder, "init", "-q")
    config = {
        "repos": [
            {
                "repo": str(hooks),
                "rev": git(hooks, "rev-parse", "HEAD").strip(),
                "hooks": [{"id": hook, "args": ["--tilelang", "0.1.15"]}],
            }
        ]
    }
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    (folder / "kernel.py").write_text(V1)
    (folder / "other.py").write_text("x = 1\n")
    git(folder, "add", "-A")
    return folder


def pre_commit(folder: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(cache)}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_lint_hook_stops_a_commit_and_writes_nothing(
    tmp_path: Path, hooks: Path, cache: Path
) -> None:
    folder = project(tmp_path / "project", hooks, "reducer-migrate")
    done = pre_commit(folder, cache)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "kernel.py:1:7: error[RM101]" in done.stdout
    assert (folder / "kernel.py").read_text() == V1


def test_the_fix_hook_rewrites_and_then_passes(tmp_path: Path, hooks: Path, cache: Path) -> None:
    folder = project(tmp_path / "project", hooks, "reducer-migrate-fix")
    first = pre_commit(folder, cache)
    git(folder, "add", "-A")
    second = pre_commit(folder, cache)

    assert first.returncode == 1, first.stdout + first.stderr
    assert "T.reducer_update(acc[0], A[i])" in (folder / "kernel.py").read_text()
    assert second.returncode == 0, second.stdout + second.stderr


def test_the_hooks_environment_holds_no_torch(tmp_path: Path, hooks: Path, cache: Path) -> None:
    pre_commit(project(tmp_path / "project", hooks, "reducer-migrate"), cache)
    installed = {path.name.lower() for path in cache.rglob("site-packages/*")}

    assert "reducer_migrate" in installed
    assert not {name for name in installed if name.startswith(("torch", "tilelang", "numpy"))}


@pytest.mark.parametrize(
    "path",
    [".pre-commit-hooks.yaml", "action.yml", *sorted(map(str, Path("examples/ci").glob("*")))],
)
def test_the_files_are_yaml_and_name_real_options(path: str) -> None:
    content = (ROOT / path).read_text()
    yaml.safe_load(content)
    shown = subprocess.run(
        [sys.executable, "-m", "reducer_migrate", "--help"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "rules")))},
    ).stdout
    options = {
        word.strip(",'\"]:`") for word in content.split() if word.lstrip("[`").startswith("--")
    }
    known = {option.lstrip("[`") for option in options}

    assert {option for option in known if option not in shown} == set()

"""What the action and the CI examples run: their shell lines, with the command they install."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

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
IMPORTS = os.pathsep.join((str(ROOT), str(ROOT / "rules")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a v1 kernel, and the command installed where the action installs it."""
    binaries = tmp_path / "runner" / "reducer-migrate" / "bin"
    binaries.mkdir(parents=True)
    command = binaries / "reducer-migrate"
    python = shlex.quote(sys.executable)
    command.write_text(f'#!/bin/sh\nexec {python} -m reducer_migrate "$@"\n')
    command.chmod(0o755)
    kernels = tmp_path / "project" / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "sum.py").write_text(V1)
    return tmp_path


def run(project: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    binaries = str(project / "runner" / "reducer-migrate" / "bin")
    path = os.pathsep.join((binaries, os.environ["PATH"]))
    return subprocess.run(
        ["bash", "-ec", script],
        cwd=project / "project",
        env={**os.environ, "PYTHONPATH": IMPORTS, "PATH": path, **environment},
        capture_output=True,
        text=True,
    )


def document(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_action_annotates_the_diff(project: Path) -> None:
    action = document("action.yml")
    check = next(step for step in action["runs"]["steps"] if step.get("name") == "Check")
    inputs = document("examples/ci/github.yml")["jobs"]["reducer-migrate"]["steps"][-1]["with"]
    assert inputs.keys() <= action["inputs"].keys()

    done = run(
        project,
        check["run"],
        RUNNER_TEMP=str(project / "runner"),
        PATHS=inputs["paths"],
        ARGS=inputs["args"],
    )

    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=kernels/sum.py,line=1,")
    assert "RM101" in done.stdout


def test_gitlab_gets_the_report_that_its_job_names(project: Path) -> None:
    job = document("examples/ci/gitlab.yml")["reducer-migrate"]
    install, check = job["script"]
    assert install == "pip install reducer-migrate"

    done = run(project, check)

    assert done.returncode == 1, done.stderr
    report = project / "project" / job["artifacts"]["reports"]["codequality"]
    findings = json.loads(report.read_text(encoding="utf-8"))
    assert {each["location"]["path"] for each in findings} == {"kernels/sum.py"}
    assert "RM101 replication-argument" in {each["check_name"] for each in findings}

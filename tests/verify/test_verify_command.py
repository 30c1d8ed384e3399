"""`reducer-migrate verify`, from a file to its table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, run
from verify_cases import EVERY_FORM, SUM_OF_EIGHT, Done


@pytest.fixture(scope="module")
def sum_on_0_1_13(releases: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("sum")
    (folder / "sum.py").write_text(SUM_OF_EIGHT)
    done = run(folder, "--tilelang", "0.1.13", "--releases", str(releases), "sum.py")
    assert (folder / "sum.py").read_text() == SUM_OF_EIGHT
    return done


def test_eight_numbers_come_out_sixteen_times_too_large(sum_on_0_1_13: Done) -> None:
    lines = [line.split() for line in sum_on_0_1_13.out.splitlines()]
    heading = "kernel inputs v1 by TileLang 0.1.13 v2 by reducer_compat verdict predicted observed"
    assert lines[0] == heading.split()
    row = "total A[8] float32 B[0] = 576 B[0] = 36 v1 is wrong 16x 16x"
    assert lines[2] == row.split()
    assert "the source makes B[0] = 36, of 8 contributions" in sum_on_0_1_13.out
    assert sum_on_0_1_13.code == 1


def test_it_says_that_it_executes_the_file_and_with_what(sum_on_0_1_13: Done) -> None:
    assert sum_on_0_1_13.err == (
        "Executing sum.py, as it is and rewritten, with TileLang 0.1.13, installed side by side.\n"
        "1 kernel: 1 v1 is wrong.\n"
    )


def test_a_warp_specialized_pipeline_loses_its_result(tmp_path: Path, releases: Path) -> None:
    path = str(ROOT / "examples" / "gemv.py")
    where = ("--tilelang", "0.1.13", "--releases", str(releases), "--arch", "sm_90")
    options = ("--args", "M=32, N=256", "--output-format", "json")
    row = run(tmp_path, path, *where, *options).kernels["gemv"]
    assert (row["verdict"], row["predicted"]) == ("v1-wrong", "RM303")
    assert row["values"]["v1"] == "nan"
    assert row["values"]["v2"] == row["values"]["counted"] > 0


def test_the_help_says_that_it_executes_the_file(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    assert "EXECUTES the file" in done.out
    assert done.code == 0


@pytest.mark.usefixtures("tilelang")
def test_a_factory_takes_its_arguments_from_the_command_line(tmp_path: Path) -> None:
    path = ROOT / "examples" / "gemv.py"
    done = run(tmp_path, f"{path}::gemv", "--args", "M=64, N=256", "--output-format", "json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    (row,) = report["kernels"]
    assert row["verdict"] == "right"
    assert row["arguments"]["M"] == 64
    assert row["arguments"]["block_N"] == 128
    assert row["inputs"] == ["A[64,256] float16", "x[256] float16"]
    assert row["contributions"] == 64 * 256
    assert row["observed"] == row["predicted"] == "1x"
    values = row["values"]
    assert values["v1"] == values["v2"] == values["counted"] > 0
    assert report["file"] == str(path)


@pytest.mark.usefixtures("tilelang")
def test_every_form_of_a_kernel_is_run(tmp_path: Path) -> None:
    (tmp_path / "forms.py").write_text(EVERY_FORM)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.reducer-migrate.verify]\nn = 6\nfactory = { rows = 2 }\nlazy = { rows = 3 }\n"
    )
    done = run(tmp_path, "forms.py", "--output-format", "json")
    inputs = {name: row["inputs"] for name, row in done.kernels.items()}
    assert inputs == {
        "plain": ["X[4,32] float32"],
        # columns is a constant of the file, rows comes from the configuration.
        "factory": ["X[2,32] float32"],
        "lazy": ["X[3,64] float32"],
        # Both sizes stand in a call of the file.
        "eager": ["X[4,64] float32"],
        "compiled": ["X[4,32] float32"],
        "dynamic": ["X[6,32] float32"],
        "test_that_launches": ["X[4,32] float32"],
        "Kernels.method": [],
    }
    verdicts = {name: row["verdict"] for name, row in done.kernels.items()}
    assert verdicts.pop("Kernels.method") == "not-run"
    assert set(verdicts.values()) == {"right"}
    assert done.kernels["Kernels.method"]["reason"] == "it is a method of class Kernels"
    assert done.code == 2


@pytest.mark.usefixtures("tilelang")
def test_the_seed_changes_the_inputs_and_nothing_else(tmp_path: Path) -> None:
    path = str(ROOT / "examples" / "gemv.py")
    options = ("--args", "M=16,N=128", "--output-format", "json")
    runs = [run(tmp_path, path, *options, "--seed", seed) for seed in ("1", "1", "2")]
    values = [done.kernels["gemv"]["values"]["v2"] for done in runs]
    assert values[0] == values[1] != values[2]
    assert {done.code for done in runs} == {0}


@pytest.mark.usefixtures("tilelang")
def test_a_kernel_of_v2_is_compared_with_its_source_alone(tmp_path: Path) -> None:
    (tmp_path / "v2.py").write_text((ROOT / "tests" / "golden" / "v2_shipped.py").read_text())
    done = run(tmp_path, "v2.py", "--args", "m=8, n=64", "--with-compat")
    row = done.out.splitlines()[2].split()
    assert row[:3] == ["build", "m=8,", "n=64"]
    assert row[3] == "-"
    assert row[-3:] == ["right", "-", "-"]
    assert done.code == 0


@pytest.mark.usefixtures("tilelang")
@pytest.mark.parametrize(
    "head", ["from tilelang.language import *", "from tilelang.language import alloc_reducer as mk"]
)
def test_a_kernel_that_names_the_members_of_the_language_is_run(tmp_path: Path, head: str) -> None:
    text = SUM_OF_EIGHT.replace("import tilelang.language as T", head)
    if head.endswith("mk"):
        text = text.replace("T.alloc_reducer", "mk").replace(
            head, f"{head}\nimport tilelang.language as T"
        )
    else:
        text = text.replace("T.", "")
    (tmp_path / "k.py").write_text(text)
    done = run(tmp_path, "k.py", "--output-format", "json")
    row = done.kernels["total"]
    assert (row["verdict"], row["values"]["v2"]) == ("right", 36)


@pytest.mark.usefixtures("tilelang")
def test_what_keeps_a_v2_kernel_from_being_counted_is_named(tmp_path: Path) -> None:
    (tmp_path / "shuffled.py").write_text(
        SUM_OF_EIGHT.replace(', replication="all"', "")
        .replace("T.clear", "T.reducer_init")
        .replace("acc[0] += A[i]", "T.reducer_update(acc[0], A[i])")
        .replace("T.finalize_reducer(acc)", "T.finalize_reducer(acc, B)")
        .replace("        T.copy(acc, B)\n", "        B[0] = T.shfl_xor(A[0], 1)\n")
    )
    done = run(tmp_path, "shuffled.py")
    assert done.out.splitlines()[-2:] == [
        "total (line 5): nothing to compare v2 with",
        "total (line 5): its contributions were not counted: the operation tl.shfl_xor_sync",
    ]
    assert done.code == 2

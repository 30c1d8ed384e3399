"""The linter's options through the command line, as a user sees them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from reducer_migrate import config
from reducer_migrate.__main__ import main

V1 = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        acc = T.alloc_reducer((1,), "float32", replication="all")
        T.clear(acc)
        for i in T.Parallel(8):
            acc[0] += A[i]
        T.finalize_reducer(acc)
        T.copy(acc, B)
"""
CODES = ["RM101", "RM103", "RM104", "RM107"]
V2 = """\
import tilelang.language as T


@T.prim_func
def main(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        acc = T.alloc_reducer((1,), "float32")
        acc_result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(8):
            T.reducer_update(acc[0], A[i])
        T.finalize_reducer(acc, acc_result)
        T.copy(acc_result, B)
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """An empty project that is pinned to a release with v2, and is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("tilelang==0.1.15\n")
    config.forget()
    return tmp_path


@pytest.fixture
def call(capsysbinary, monkeypatch):
    """Run the command; its exit code, stdout and stderr."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return caught.value.code, captured.out.decode(), captured.err.decode()

    return run


def codes(call, *arguments):
    """The exit code, and the codes found with `--output-format concise`."""
    code, out, err = call("--check", "--output-format", "concise", *arguments)
    assert code in (0, 1), err
    return code, [line.split()[1] for line in out.splitlines()]


def write(path, text):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# Selection


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], (1, CODES)),
        (["--select", "RM104"], (1, ["RM104"])),
        (["--select", "RM101,augmented-update"], (1, ["RM101", "RM104"])),
        (["--select", "RM101", "--select", "RM104"], (1, ["RM101", "RM104"])),
        (["--ignore", "RM10"], (0, [])),
        (["--ignore", "RM101,RM103"], (1, ["RM104", "RM107"])),
        (["--select", "RM2", "--extend-select", "RM107"], (1, ["RM107"])),
        (["--select", "RM2"], (0, [])),
        (["--per-file-ignores", "kernels/*:RM1"], (0, [])),
        (["--per-file-ignores", "other/*:RM1"], (1, CODES)),
        (["--per-file-ignores", "k.py:RM101,RM103", "--ignore", "RM104"], (1, ["RM107"])),
    ],
)
def test_selection(call, options, expected):
    write("kernels/k.py", V1)
    assert codes(call, *options, "kernels") == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--select", "RM1O4"], "'--select': unknown rule code 'RM1O4'; did you mean 'RM104'?"),
        (["--ignore", "RM1,XX"], "'--ignore': unknown rule code 'XX'; `reducer-migrate rules`"),
        (["--extend-select", "augmented-updates"], "did you mean 'augmented-update'?"),
        (["--per-file-ignores", "a.py:RN1"], "'--per-file-ignores': unknown rule code 'RN1'"),
        (["--per-file-ignores", "RM1"], "'RM1' is not GLOB:CODES, as in 'tests/*:RM3'"),
        (["--output-format", "srif"], "'srif' is not one of 'text', 'concise', 'json', 'sarif'"),
        (["--slect", "RM1"], "'--select'"),
        (["--tilelang", "new"], "'--tilelang': not a TileLang release: 'new'"),
        (["--jobs", "0"], "'--jobs': 0 is not in the range x>=1."),
        (["--stdin-filename", "a.py"], "`--stdin-filename` needs `-` as the only path."),
        (["--write-baseline"], "`--write-baseline` needs `--baseline FILE`."),
        (["--isolated", "--config", "c.toml"], "`--config` and `--isolated` exclude each other."),
        (["--config", "c.toml"], "c.toml: cannot read the configuration: No such file"),
        (["--output-file", "no/o.txt"], "'--output-file': no/o.txt: No such file or directory"),
    ],
)
def test_an_error_of_use_is_named_and_ends_with_2(call, options, message):
    path = write("k.py", V1)
    code, out, err = call(*options, "k.py")
    assert (code, out) == (2, "")
    assert message in err
    assert path.read_text() == V1


# Nothing is half converted


@pytest.mark.parametrize("options", [["--ignore", "RM104"], ["--select", "RM101"]])
def test_a_reducer_with_an_unselected_finding_is_not_rewritten(call, options):
    path = write("k.py", V1)
    code, _, err = call(*options, "k.py")
    assert code == 1
    assert "Nothing to rewrite." in err
    assert path.read_text() == V1


def test_a_suppressed_statement_keeps_its_reducer_and_the_others_are_rewritten(call):
    other = V1.split("\n\n\n")[1].replace("main", "other").replace("acc", "best")
    silenced = V1.replace("A[i]\n", "A[i]  # reducer: noqa[RM104]\n")
    path = write("k.py", f"{silenced}\n\n{other}")
    code, out, err = call("--output-format", "concise", "k.py")
    assert code == 1
    assert [line.split()[1] for line in out.splitlines()] == ["RM101", "RM103", "RM107"]
    assert "1 finding suppressed by comments." in err
    text = path.read_text()
    assert text.startswith(silenced)
    assert "T.reducer_update(best[0], A[i])" in text


def test_blanket_suppressions_of_every_statement_leave_the_file_and_succeed(call):
    silenced = "# reducer: noqa-file\n" + V1
    path = write("k.py", silenced)
    code, out, err = call("k.py")
    assert (code, out) == (0, "")
    assert "4 findings suppressed by comments." in err
    assert path.read_text() == silenced


def test_an_unused_suppression_is_a_warning_that_fails_when_strict(call):
    write("k.py", V2.replace("A[i])\n", "A[i])  # reducer: noqa[RM104]\n"))
    code, out, _ = call("--check", "k.py")
    assert code == 0
    assert out == (
        "k.py:11:61: warning[RM901]: unused suppression: nothing on this statement is reported as "
        "RM104\n"
        "   |\n"
        "11 |             T.reducer_update(acc[0], A[i])  # reducer: noqa[RM104]\n"
        "   |                                                             ^^^^^\n"
        "   = help: remove the comment, or the codes named\n"
    )
    assert call("--check", "--strict", "k.py")[0] == 1


def test_an_unknown_code_in_a_suppression_names_the_nearest(call):
    write("k.py", V2.replace("A[i])\n", "A[i])  # reducer: noqa[RM1O4]\n"))
    _, out, _ = call("--check", "--output-format", "concise", "k.py")
    assert out == "k.py:11:61: RM902 unknown rule code 'RM1O4'; did you mean 'RM104'?\n"


# Configuration


def test_configuration_is_taken_from_the_nearest_file_up_from_each_source(call):
    write("a/k.py", V1)
    write("b/k.py", V1)
    write("pyproject.toml", '[tool.reducer-migrate]\nselect = ["RM101"]\n')
    write("b/reducer-migrate.toml", 'select = ["RM104"]\n')
    assert codes(call, ".") == (1, ["RM101", "RM104"])
    assert codes(call, "--select", "RM107", ".") == (1, ["RM107", "RM107"])
    assert codes(call, "--isolated", "a") == (1, CODES)
    assert codes(call, "--config", "b/reducer-migrate.toml", "a") == (1, ["RM104"])


def test_an_unknown_key_is_an_error_only_where_a_file_asks_for_it(call):
    write("a/reducer-migrate.toml", "\nselct = []\n")
    write("a/k.py", V1)
    write("b/k.py", "x = 1\n")
    code, out, err = call("--check", "a")
    assert (code, out) == (2, "")
    assert err == "Error: a/reducer-migrate.toml:2: unknown key 'selct'; did you mean 'select'?\n"
    assert call("--check", "b")[0] == 0


def test_exclude_in_the_configuration_holds_for_named_files_and_stdin(call):
    write("pyproject.toml", '[tool.reducer-migrate]\nexclude = ["gen/"]\n')
    path = write("gen/k.py", V1)
    assert codes(call, ".") == (0, [])
    assert codes(call, "gen/k.py") == (0, [])
    assert call("gen/k.py")[0] == 0
    assert path.read_text() == V1
    assert call("-", "--stdin-filename", "gen/k.py", stdin=V1.encode())[1] == V1
    assert (
        call("-", "--exclude", "gen/", "--stdin-filename", "gen/x.py", stdin=V1.encode())[1] == V1
    )


def test_the_release_in_the_configuration_goes_before_the_pin(call):
    write("k.py", V1)
    write("pyproject.toml", '[tool.reducer-migrate]\n\ntilelang = "0.1.10"\n')
    assert "Judged against TileLang 0.1.10 (pyproject.toml:3)." in call("--check", "k.py")[2]
    err = call("--check", "--tilelang", "0.1.14", "k.py")[2]
    assert "Judged against TileLang 0.1.14 (--tilelang)." in err
    err = call("--check", "--isolated", "k.py")[2]
    assert "Judged against TileLang 0.1.15 (requirements.txt:1)." in err


def test_flags_of_the_configuration_can_be_turned_off(call):
    write("k.py", V2.replace("A[i])\n", "A[i])  # reducer: noqa\n"))
    write("pyproject.toml", '[tool.reducer-migrate]\nstrict = true\noutput-format = "json"\n')
    code, out, _ = call("--check", "k.py")
    assert (code, json.loads(out)[0]["code"]) == (1, "RM901")
    assert call("--check", "--no-strict", "k.py")[0] == 0


# Baselines


def test_adopt_now_and_fail_only_on_what_is_new(call, project):
    path = write("src/k.py", V1)
    code, out, err = call("--baseline", "ci.json", "--write-baseline", "src")
    assert (code, out) == (0, "")
    assert f"Wrote 4 findings to the baseline {project / 'ci.json'}." in err
    assert path.read_text() == V1

    path.write_text("# a comment\n\n" + V1)
    assert codes(call, "--baseline", "ci.json", "src") == (0, [])
    path.write_text(V1 + V1.split("\n\n\n")[1].replace("acc", "best"))
    assert codes(call, "--baseline", "ci.json", "src") == (1, CODES)


def test_what_is_in_the_baseline_is_not_rewritten(call):
    path = write("k.py", V1)
    call("--baseline", "ci.json", "--write-baseline", "k.py")
    code, _, err = call("--baseline", "ci.json", "k.py")
    assert code == 0
    assert "4 findings in the baseline." in err
    assert path.read_text() == V1


def test_entries_that_are_gone_are_mentioned(call):
    path = write("k.py", V1)
    call("--baseline", "ci.json", "--write-baseline", ".")
    path.write_text(V2)
    code, _, err = call("--check", "--baseline", "ci.json", ".")
    assert code == 0
    assert "4 baseline entries are gone: write the baseline again with `--write-baseline`." in err
    path.write_text("x = 1\n")
    assert "4 baseline entries are gone" in call("--check", "--baseline", "ci.json", ".")[2]


def test_a_broken_baseline_is_reported_and_left_out(call, project):
    write("k.py", V1)
    write("ci.json", "{")
    code, out, _ = call("--check", "--baseline", "ci.json", "--output-format", "concise", "k.py")
    assert code == 2
    first, *rest = out.splitlines()
    assert first.startswith(f"{project / 'ci.json'}:1:1: RM008 the baseline is no JSON: ")
    assert [line.split()[1] for line in rest] == CODES


def test_the_configuration_names_a_baseline_relative_to_itself(call):
    write("pyproject.toml", '[tool.reducer-migrate]\nbaseline = "ci/known.json"\n')
    write("a/k.py", V1)
    Path("ci").mkdir()
    assert call("--write-baseline", "a")[0] == 0
    assert Path("ci/known.json").exists()
    assert codes(call, "a") == (0, [])


# Formats


FORMATS = ["text", "concise", "json", "sarif", "github", "gitlab", "junit"]


@pytest.mark.parametrize("format", FORMATS)
def test_the_format_never_decides_what_is_written_or_the_exit_code(call, format):
    path = write("k.py", V1)
    assert call("--check", "--output-format", format, "k.py")[0] == 1
    assert path.read_text() == V1
    assert call("--output-format", format, "k.py")[0] == 0
    assert path.read_text() == V2


@pytest.mark.parametrize("format", FORMATS)
def test_the_document_goes_to_a_file_as_it_goes_to_stdout(call, format):
    write("k.py", V1)
    _, out, _ = call("--check", "--output-format", format, "k.py")
    code, nothing, _ = call("--check", "--output-format", format, "--output-file", "o", "k.py")
    assert (code, nothing) == (1, "")
    assert Path("o").read_text() == out


def test_sarif_of_a_run_is_valid_and_its_fix_is_the_rewrite(call):
    write("k.py", V1)
    document = json.loads(call("--check", "--output-format", "sarif", "k.py")[1])
    schema = json.loads((Path(__file__).parent / "schemas/sarif-2.1.0.json").read_text())
    jsonschema.Draft4Validator(schema).validate(document)
    results = document["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == CODES
    ((change,),) = ({json.dumps(result["fixes"][0]["artifactChanges"]) for result in results},)
    lines = V1.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    text = V1
    for edit in reversed(json.loads(change)[0]["replacements"]):
        region = edit["deletedRegion"]
        begin = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:begin] + edit["insertedContent"]["text"] + text[end:]
    assert text == V2


def test_statistics_count_instead_of_listing(call):
    write("a.py", V1)
    write("b.py", V1.replace("A[i]\n", "A[i]  # reducer: noqa[RM104]\n"))
    code, out, _ = call("--check", "--statistics", ".")
    assert code == 1
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["2", "RM101", "error"],
        ["2", "RM103", "error"],
        ["2", "RM107", "error"],
        ["1", "RM104", "error"],
    ]
    out = call("--check", "--statistics", "--output-format", "json", ".")[1]
    assert json.loads(out)[3] == {
        "code": "RM104",
        "name": "augmented-update",
        "severity": "error",
        "count": 1,
    }


def test_stdin_is_shown_under_the_name_it_is_given(call):
    write("src/reducer-migrate.toml", 'select = ["RM104"]\n')
    arguments = ("-", "--stdin-filename", "src/k.py")
    code, out, _ = call("--check", "--output-format", "concise", *arguments, stdin=V1.encode())
    assert code == 1
    assert out.startswith("src/k.py:10:13: RM104 ")
    assert len(out.splitlines()) == 1
    assert call(*arguments, "--select", "ALL", stdin=V1.encode())[:2] == (0, V2)
    assert not Path("src/k.py").exists()


# Several processes


def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "reducer_migrate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_several_processes_say_and_write_the_same_as_one():
    for number in range(12):
        write(f"one/{number}.py", V1.replace("acc", f"acc{number}"))
    write("one/5.py", "acc = T.alloc_reducer(\n")
    serial = run("--check", "one")
    assert run("--check", "--jobs", "2", "one").stdout == serial.stdout
    assert serial.stdout.count("error[RM104]") == 11
    rewritten = run("--jobs", "2", "one")
    assert rewritten.returncode == 2
    assert "Rewrote 11 reducers in 11 files." in rewritten.stderr
    for number in set(range(12)) - {5}:
        assert Path(f"one/{number}.py").read_text() == V2.replace("acc", f"acc{number}")


def test_a_configuration_that_cannot_be_used_is_named_from_another_process_too():
    write("reducer-migrate.toml", "strct = true\n")
    write("a/k.py", V1)
    done = run("--check", "--jobs", "2", "a/k.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: reducer-migrate.toml:1: unknown key 'strct'; did you mean 'strict'?\n"
    )


# Commands beside paths


def test_explain_prints_the_documentation(call):
    code, out, _ = call("explain", "rm203")
    assert code == 0
    assert out.startswith("# RM203 ")
    code, out, err = call("explain", "RM2O3")
    assert (code, out) == (2, "")
    assert err.endswith("Error: unknown rule 'RM2O3'; did you mean 'RM203'?\n")


def test_rules_lists_every_code(call):
    code, out, _ = call("rules")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == [
        record["code"] for record in json.loads(call("rules", "--output-format", "json")[1])
    ]


def test_a_path_with_the_name_of_a_command_can_be_given(call):
    write("rules", V1)
    assert codes(call, "./rules") == (1, CODES)


def completions(words, current):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "_REDUCER_MIGRATE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["reducer-migrate", *words, current]),
        "COMP_CWORD": str(len(words) + 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "reducer_migrate"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "current", "expected"),
    [
        ([], "--sel", ["--select"]),
        ([], "ru", ["rules", "ru"]),
        (["--output-format"], "s", ["sarif"]),
        (["explain"], "RM90", ["RM901", "RM902"]),
        (["completion"], "f", ["fish"]),
        (["a.py"], "ru", ["ru"]),
    ],
)
def test_shell_completion(words, current, expected):
    assert completions(words, current) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_asks_by_the_documented_variable(call, shell):
    code, out, _ = call("completion", shell)
    assert code == 0
    assert "_REDUCER_MIGRATE_COMPLETE" in out

"""Configuration files: discovery, precedence, and what is said of a bad one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from reducer_migrate import config
from reducer_migrate.config import Config, ConfigError, config_for, load
from reducer_migrate.globs import Globs


@pytest.fixture(autouse=True)
def fresh():
    yield
    config.forget()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


FULL = """\
tilelang = "0.1.13"
dialect = "rfc"
select = ["RM1", "RM2"]
ignore = ["RM104"]
extend-select = ["unused-suppression"]
exclude = ["third_party/", "*_generated.py"]
baseline = "ci/baseline.json"
output-format = "sarif"
unsafe-fixes = true
include-docs = true
strict = true
with-compat = false

[{table}per-file-ignores]
"tests/*" = ["RM9"]
"""


@pytest.mark.parametrize(
    ("name", "place", "text"),
    [
        ("reducer-migrate.toml", "{path}:1", FULL.format(table="")),
        (
            "pyproject.toml",
            "{path}:2",
            "[tool.reducer-migrate]\n" + FULL.format(table="tool.reducer-migrate."),
        ),
    ],
)
def test_every_key_is_read(tmp_path, name, place, text):
    path = write(tmp_path / name, text)
    assert load(str(path)) == Config(
        path=str(path),
        tilelang="0.1.13",
        place=place.format(path=path),
        dialect="rfc",
        select=("RM1", "RM2"),
        ignore=("RM104",),
        extend_select=("unused-suppression",),
        per_file_ignores=((Globs(str(tmp_path), ("tests/*",)), ("RM9",)),),
        exclude=(Globs(str(tmp_path), ("third_party/", "*_generated.py")),),
        baseline=f"{tmp_path}/ci/baseline.json",
        output_format="sarif",
        unsafe_fixes=True,
        include_docs=True,
        strict=True,
        with_compat=False,
    )


def test_the_nearest_file_up_from_the_source_counts(tmp_path):
    write(tmp_path / "pyproject.toml", "[tool.reducer-migrate]\nstrict = true\n")
    write(tmp_path / "a" / "pyproject.toml", "[project]\nname = 'x'\n")
    write(tmp_path / "a" / "b" / "reducer-migrate.toml", "strict = false\n")
    write(tmp_path / "a" / "b" / "pyproject.toml", "[tool.reducer-migrate]\nstrict = true\n")
    assert config_for(f"{tmp_path}/k.py").strict is True
    assert config_for(f"{tmp_path}/a/k.py").path == f"{tmp_path}/pyproject.toml"
    assert config_for(f"{tmp_path}/a/b/c/k.py").strict is False
    assert config_for(f"{tmp_path}/a/b").path == f"{tmp_path}/a/b/reducer-migrate.toml"


def test_a_pyproject_without_our_name_is_not_parsed(tmp_path):
    write(tmp_path / "pyproject.toml", "this is [no TOML\n")
    assert config_for(f"{tmp_path}/k.py").path is None


def test_paths_are_relative_to_the_file_that_holds_them(tmp_path, monkeypatch):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep")
    write(tmp_path / "reducer-migrate.toml", 'exclude = ["deep/er"]\nbaseline = "b.json"\n')
    found = config_for("er/k.py")
    assert found.baseline == f"{tmp_path}/b.json"
    assert found.excludes("er/k.py")
    assert not found.excludes("k.py")


def test_options_win_over_the_file_and_lists_that_extend_add_up(tmp_path):
    file = Config(
        path="p.toml",
        tilelang="0.1.10",
        select=("RM1",),
        extend_select=("RM301",),
        exclude=(Globs(str(tmp_path), ("a",)),),
        strict=True,
    )
    options = Config(
        select=("RM2",),
        extend_select=("RM9",),
        exclude=(Globs(str(tmp_path), ("b",)),),
        strict=False,
    )
    merged = options.over(file)
    assert merged == Config(
        path="p.toml",
        tilelang="0.1.10",
        select=("RM2",),
        extend_select=("RM301", "RM9"),
        exclude=(Globs(str(tmp_path), ("a",)), Globs(str(tmp_path), ("b",))),
        strict=False,
    )


KEYS = (
    "tilelang, dialect, select, ignore, extend-select, per-file-ignores, exclude, baseline, "
    "output-format, unsafe-fixes, include-docs, strict, with-compat, verify"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tilelnag = '0.1.13'", "unknown key 'tilelnag'; did you mean 'tilelang'?"),
        ("unsafe_fixes = true", "unknown key 'unsafe_fixes'; did you mean 'unsafe-fixes'?"),
        ("[per-file-ignore]", "unknown key 'per-file-ignore'; did you mean 'per-file-ignores'?"),
        ("colour = 1", f"unknown key 'colour'; known keys are {KEYS}"),
        ("strict = 1", "'strict' must be true or false, not an integer"),
        ("verify = 'M=1'", "'verify' must be a table from name to value, not a string"),
        ("strict = 'yes'", "'strict' must be true or false, not a string"),
        ("select = 'RM1'", "'select' must be a list of strings, not a string"),
        ("select = ['RM1', 2]", "'select' must be a list of strings, and holds an integer"),
        (
            "select = ['RM1O4']",
            "'select' names an unknown rule code 'RM1O4'; did you mean 'RM104'?",
        ),
        ("exclude = {}", "'exclude' must be a list of strings, not a table"),
        ("baseline = 1979-05-27", "'baseline' must be a string, not a date or time"),
        (
            "per-file-ignores = []",
            "'per-file-ignores' must be a table from glob to codes, not a list",
        ),
        ("dialect = 'v2'", "'dialect' is 'v2', expected one of shipped, rfc"),
        (
            "output-format = 'html'",
            "'output-format' is 'html', expected one of text, concise, json, sarif, github, "
            "gitlab, junit",
        ),
        (
            "tilelang = 'new'",
            "'tilelang' is not a TileLang release: 'new' (expected for example 0.1.13, or any)",
        ),
    ],
)
def test_a_bad_key_or_value_is_named_with_its_line(tmp_path, line, message):
    path = write(tmp_path / "reducer-migrate.toml", f"# settings\n\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        config_for(f"{tmp_path}/k.py")
    assert str(caught.value) == f"{path}:3: {message}"


def test_codes_in_per_file_ignores_are_checked(tmp_path):
    path = write(tmp_path / "reducer-migrate.toml", '[per-file-ignores]\n"a/*" = ["RN1"]\n')
    with pytest.raises(ConfigError) as caught:
        load(str(path))
    assert str(caught.value).startswith(f"{path}:2: 'a/*' names an unknown rule code 'RN1'")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("reducer-migrate.toml", b"strict = \n", "the configuration is no TOML: "),
        ("reducer-migrate.toml", b"\xff", "the configuration is no TOML: "),
        ("pyproject.toml", b"[tool.reducer-migrate\n", "the configuration is no TOML: "),
    ],
)
def test_a_file_that_is_no_toml_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        config_for(f"{tmp_path}/k.py")
    assert str(caught.value).startswith(f"{tmp_path / name}: {message}")


@pytest.mark.parametrize("text", ["tool = 3 # reducer-migrate", "[tool]\nreducer-migrate = 3\n"])
def test_a_table_of_the_wrong_type_is_no_traceback(tmp_path, text):
    path = write(tmp_path / "pyproject.toml", text)
    if text.startswith("tool"):
        assert config_for(f"{tmp_path}/k.py") == Config()
        return
    with pytest.raises(ConfigError, match="'reducer-migrate' must be a table"):
        load(str(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(f"{tmp_path}/no.toml")
    assert str(caught.value) == (
        f"{tmp_path / 'no.toml'}: cannot read the configuration: No such file or directory"
    )


HEAVY = {"tomllib", "tomli", "dataclasses", "difflib", "reducer_rules", "rich", "libcst"}


def test_looking_for_configuration_imports_nothing_heavy(tmp_path):
    write(tmp_path / "pyproject.toml", "[project]\nname = 'x'\n")
    code = (
        "import sys; from reducer_migrate.config import config_for\n"
        f"config_for({str(tmp_path)!r})\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "[]\n"

"""Calls of the language by names of its members, and what is said where none can be followed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from reducer_migrate.api import Result, lint, migrate
from reducer_migrate.cli import command as command_line
from reducer_migrate.engine import Options, analyse
from reducer_migrate.rewriting import Rewrite, rewrite
from reducer_migrate.source import Source
from reducer_rules import Release, Target

LANGUAGE = "import tilelang.language as T\n"
EPOCH = """\
def build(n):
    @T.prim_func
    def main(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            acc = ALLOC((1,), "float32", replication="all")
            T.clear(acc)
            for i in T.Parallel(8):
                acc[0] += A[i]
            T.finalize_reducer(acc)
            T.copy(acc, B)

    return main
"""


def _migrated(head: str, alloc: str) -> Result:
    return migrate(head + EPOCH.replace("ALLOC", alloc), tilelang="0.1.15")


def _codes(text: str) -> list[tuple[str, int]]:
    return [(finding.code, finding.start.line) for finding in lint(text, tilelang="0.1.15")]


FOLLOWED = {
    "renamed": ("from tilelang.language import alloc_reducer as mk\n", "mk"),
    "of a part of the language": (
        "from tilelang.language.allocate import alloc_reducer as mk\n",
        "mk",
    ),
    "of a backend": ("from tilelang.ascend.language import alloc_reducer as mk\n", "mk"),
    "bound": ("mk = T.alloc_reducer\n", "mk"),
    "bound with others": ("mk, zero = T.alloc_reducer, T.clear\n", "mk"),
    "bound in turn": ("first = T.alloc_reducer\nmk: object = first\n", "mk"),
    "bound by the language in full": (
        "import tilelang\nmk = tilelang.language.alloc_reducer\n",
        "mk",
    ),
    "imported where it can be": (
        "try:\n    from tilelang.language import alloc_reducer as mk\n"
        "except ImportError:\n    mk = None\n",
        "mk",
    ),
    "imported or bound": (
        "if FAST:\n    from tilelang.language import alloc_reducer as mk\n"
        "else:\n    mk = T.alloc_reducer\n",
        "mk",
    ),
    "all names": ("from tilelang.language import *\n", "alloc_reducer"),
    "the language in a class": (
        "class Ops:\n    import tilelang.language as T\n",
        "Ops.T.alloc_reducer",
    ),
}


@pytest.mark.parametrize(("head", "alloc"), FOLLOWED.values(), ids=FOLLOWED)
def test_an_allocation_by_another_name_is_rewritten_whole(head: str, alloc: str) -> None:
    result = _migrated(LANGUAGE + head, alloc)
    assert f'acc = {alloc}((1,), "float32")\n' in result.text
    assert "replication" not in result.text
    assert "T.reducer_update(acc[0], A[i])" in result.text
    assert result.remaining == ()
    ast.parse(result.text)
    again = migrate(result.text, tilelang="0.1.15")
    assert (again.text, again.remaining) == (result.text, ())


@pytest.mark.parametrize(("head", "alloc"), FOLLOWED.values(), ids=FOLLOWED)
def test_a_check_finds_the_same(head: str, alloc: str) -> None:
    codes = [code for code, _ in _codes(LANGUAGE + head + EPOCH.replace("ALLOC", alloc))]
    assert codes == ["RM101", "RM103", "RM104", "RM107"]


@pytest.mark.parametrize(
    ("head", "alloc", "line"),
    [
        ("from functools import partial\nmk = partial(T.alloc_reducer, op='sum')\n", "mk", 3),
        ("OPS = {'sum': T.alloc_reducer}\n", "OPS['sum']", 2),
        ("mk = T.alloc_reducer if FAST else T.alloc_fragment\n", "mk", 2),
        ("mk = getattr(T, 'alloc_reducer')\n", "mk", 2),
        ("mk = lambda *a, **k: T.alloc_reducer(*a, **k)\n", "mk", 2),
        ("class Ops:\n    mk = T.alloc_reducer\n", "Ops.mk", 3),
        ("class Ops:\n    from tilelang.language import alloc_reducer as mk\n", "Ops.mk", 3),
        ("def give():\n    return T.alloc_reducer\n", "give()", 3),
    ],
    ids=["partial", "table", "choice", "getattr", "lambda", "class", "import in a class", "return"],
)
def test_what_is_not_followed_is_said_where_it_starts_and_ends(
    head: str, alloc: str, line: int
) -> None:
    """Nothing is rewritten, and both the function's way out of sight and the epoch are named."""
    text = LANGUAGE + head + EPOCH.replace("ALLOC", alloc)
    end = 1 + text[: text.index("T.finalize_reducer")].count("\n")
    assert _codes(text) == [("RM010", line), ("RM010", end)]
    assert migrate(text, tilelang="0.1.15").text == text


@pytest.mark.parametrize(
    "text",
    [
        "def alloc_reducer(n): ...\nacc = alloc_reducer(3)\n",
        LANGUAGE + "def finish(acc, out):\n    T.finalize_reducer(acc, out)\n",
        LANGUAGE + "print(T.alloc_reducer, hasattr(T, 'alloc_reducer'))\n",
        LANGUAGE + "if T.alloc_reducer is not None:\n    HAS = True\n",
        LANGUAGE + "T.alloc_reducer = patched\n",
        "from tilelang.language import alloc_reducer, finalize_reducer\n",
        '"""T.alloc_reducer((1,), "float32")"""\n',
        "class L:\n    def f(self):\n        return self.alloc_reducer(3)\n",
        "NAMES = ['alloc_reducer', 'finalize_reducer']\n",
    ],
)
def test_nothing_is_said_of_what_allocates_nothing(text: str) -> None:
    assert _codes(text) == []


def test_an_import_under_another_name_that_only_others_use_is_said() -> None:
    text = "from tilelang.language import alloc_reducer as mk\n\n__all__ = ['mk']\n"
    assert _codes(text) == [("RM010", 1)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package whose `ops` has members of the language by names of its own."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from .ops import *\n")
    (tmp_path / "pkg" / "ops.py").write_text(
        "from tilelang.language import alloc_reducer, alloc_reducer as mk\n"
        "def own(*shape):\n    return shape\n"
    )
    return tmp_path


def _in_project(project: Path, head: str, alloc: str, *options: str) -> tuple[str, str]:
    """The kernel in a module of the project after a run, and what the run says."""
    kernel = project / "pkg" / "kernel.py"
    kernel.write_text(LANGUAGE + head + EPOCH.replace("ALLOC", alloc))
    command = ["--output-format", "concise", "--tilelang", "0.1.15", *options, str(kernel)]
    done = CliRunner().invoke(command_line, command, standalone_mode=False)
    return kernel.read_text(), done.stdout


@pytest.mark.parametrize(
    ("head", "alloc"),
    [
        ("from .ops import alloc_reducer\n", "alloc_reducer"),
        ("from .ops import mk\n", "mk"),
        ("from .ops import mk as make\n", "make"),
        ("from pkg.ops import mk\n", "mk"),
        ("from pkg import mk\n", "mk"),
        ("from . import mk\n", "mk"),
        ("from .ops import *\n", "mk"),
    ],
)
def test_a_name_from_another_module_of_the_project_is_followed(
    project: Path, head: str, alloc: str
) -> None:
    text, said = _in_project(project, head, alloc)
    assert "T.reducer_update(acc[0], A[i])" in text
    assert said == ""


@pytest.mark.parametrize(
    ("head", "alloc", "lines"),
    [
        ("from .ops import own\n", "own", [11]),
        ("from .missing import alloc_reducer\n", "alloc_reducer", [2]),
        ("from elsewhere import alloc_reducer as mk\n", "mk", [2, 11]),
        ("from . import ops\n", "ops.mk", [11]),
    ],
)
def test_a_name_from_a_module_that_has_it_not_is_said(
    project: Path, head: str, alloc: str, lines: list[int]
) -> None:
    _, said = _in_project(project, head, alloc, "--check")
    found = [(line.split(":")[1], "RM010" in line) for line in said.splitlines()]
    assert found == [(str(line), True) for line in lines]


def test_a_module_that_has_only_the_allocation_is_not_taken_for_the_language() -> None:
    result = _migrated(LANGUAGE + "from . import ops\n", "ops.alloc_reducer")
    assert "acc_result = T.alloc_fragment(" in result.text
    assert "T.reducer_update(acc[0], A[i])" in result.text


BARE = """\
\"\"\"A module.\"\"\"
from tilelang.language import {names}

acc = alloc_reducer((1,), "float32", replication="all")
clear(acc)
for i in Parallel(8):
    acc[0] += A[i]
finalize_reducer(acc)
"""


def _rewritten(text: str, release: str, *, add_import: bool = False) -> Rewrite:
    source = Source.of(text)
    options = Options(Target(Release.parse(release)), add_import=add_import)
    return rewrite(source, analyse(source, options), options)


@pytest.mark.parametrize("names", ["*", "Parallel, alloc_reducer, clear, finalize_reducer"])
def test_the_runtime_is_imported_before_the_members_that_it_replaces(names: str) -> None:
    result = _rewritten(BARE.format(names=names), "0.1.13", add_import=True)
    assert result.text.split("\n")[:4] == [
        '"""A module."""',
        "import reducer_compat",
        f"from tilelang.language import {names}",
        "import tilelang.language as T",
    ]
    assert "T.reducer_update(acc[0], A[i])" in result.text


def test_where_the_usual_name_is_taken_the_reason_and_the_way_out_are_said() -> None:
    names = "Parallel, alloc_reducer, clear, finalize_reducer"
    result = _rewritten(BARE.format(names=names) + "T = 1\n", "0.1.15")
    (finding,) = result.remaining
    assert finding.code == "RM006"
    assert "`acc` is allocated by a bare name" in finding.message
    assert "import tilelang.language as T" in finding.help


def test_a_cell_whose_language_another_one_imports_uses_it_under_the_usual_name() -> None:
    text = BARE.format(names="Parallel, alloc_reducer, clear, finalize_reducer")
    cell = text.partition("\n\n")[2] + "T.copy(acc, B)\n"
    result = _rewritten(cell, "0.1.15")
    assert "acc_result = T.alloc_fragment(" in result.text
    assert "T.copy(acc_result, B)" in result.text
    assert result.remaining == ()


def test_a_refusal_is_said_once_beside_a_reducer_that_is_rewritten(tmp_path: Path) -> None:
    """Also where a document has several regions, of which one is rewritten."""
    refused = BARE.format(names="Parallel, alloc_reducer, clear, finalize_reducer")
    good = EPOCH.replace("ALLOC", "T.alloc_reducer")
    (tmp_path / "k.py").write_text(refused + "import tilelang.language as T\n" + good)
    (tmp_path / "k.md").write_text(f"```python\n{refused}T = 1\n```\n\n```python\n{good}```\n")
    for name in ("k.py", "k.md"):
        command = ["--output-format", "concise", "--tilelang", "0.1.15", str(tmp_path / name)]
        done = CliRunner().invoke(command_line, command, standalone_mode=False)
        assert done.stdout.count("RM006") == (name == "k.md")
        assert "T.reducer_update(acc[0], A[i])" in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    "names", ["*", "Parallel, alloc_reducer, ceildiv, clear, finalize_reducer, get_thread_binding"]
)
def test_a_shape_of_several_lines_and_a_message_are_spelled_as_the_source_is(names: str) -> None:
    head = f"from tilelang.language import {names}\n"
    alloc = 'acc = alloc_reducer(\n    (ceildiv(n, 4),  # quarters\n    ), "float32")\nclear(acc)\n'
    result = _rewritten(f"{head}{alloc}finalize_reducer(acc)\n", "0.1.15")
    assert 'alloc_fragment((ceildiv(n, 4),), "float32")' in result.text
    assert result.remaining == ()
    store = "acc[ceildiv(n, 4)] *= 2\nfinalize_reducer(acc)\n"
    (finding,) = _rewritten(f"{head}{alloc}{store}", "0.1.15").remaining
    assert "`acc[ceildiv(n, 4)] *= ...`" in finding.message
    assert "tilelang>" not in finding.message + finding.help

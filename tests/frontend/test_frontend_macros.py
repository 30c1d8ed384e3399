"""Reducers that are passed to macros: judged where they are called, in every file of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from reducer_migrate.engine import Options, analyse
from reducer_migrate.rewriting import rewrite
from reducer_migrate.source import Source
from reducer_rules import Target
from reducer_rules.release import Release

OPTIONS = Options(Target(Release((0, 1, 15))), siblings=True)
V2 = """\
import tilelang.language as T


@T.macro
def rows(into, S):
    for i, j in T.Parallel(8, 64):
        T.reducer_update(into[i], S[i, j])


@T.macro
def both(into, S):
    rows(into, S)
    rows(S=S, into=into)
"""
V1 = V2.replace("T.reducer_update(into[i], S[i, j])", "into[i] += S[i, j]")
EPOCH = """\
import tilelang.language as T
{imports}

@T.prim_func
def main(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((8,), "float32")
        result = T.alloc_fragment((8,), "float32")
        T.reducer_init(acc)
        {call}
        T.finalize_reducer(acc, result)
        T.copy(result, B)
"""


def _said(path: Path, text: str) -> list[str]:
    source = Source.of(text, str(path))
    found = analyse(source, OPTIONS).diagnostics
    return [f"{d.start.line}:{d.start.column} {d.code} {d.message}" for d in found]


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from helpers import rows", "rows(acc, A)"),
        ("from helpers import both as twice", "twice(acc, A)"),
        ("import helpers", "helpers.both(S=A, into=acc)"),
        ("import helpers as h", "h.rows(acc, A)"),
        ("from .helpers import both", "both(acc, A)"),
        ("from . import helpers", "helpers.rows(acc, A)"),
    ],
)
def test_a_macro_of_another_module_is_followed(tmp_path: Path, imports: str, call: str) -> None:
    (tmp_path / "helpers.py").write_text(V2)
    text = EPOCH.format(imports=imports, call=call)
    assert _said(tmp_path / "kernel.py", text) == []


def test_a_macro_of_another_module_calls_members_by_their_bare_names(tmp_path: Path) -> None:
    bare = V2.replace("T.reducer_update", "reducer_update").replace(
        "import tilelang.language as T\n",
        "import tilelang.language as T\nfrom tilelang.language import reducer_update\n",
    )
    (tmp_path / "helpers.py").write_text(bare)
    text = EPOCH.format(imports="from helpers import both", call="both(acc, A)")
    assert _said(tmp_path / "kernel.py", text) == []


def test_a_macro_in_v1_of_another_module_is_said_where_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(V1)
    text = EPOCH.format(imports="from helpers import both", call="both(acc, A)")
    v1 = text.replace("T.reducer_init", "T.clear").replace("(acc, result)", "(acc)")
    assert _said(tmp_path / "kernel.py", v1.replace("copy(result", "copy(acc")) == [
        "10:9 RM218 macro `rows` cannot be rewritten for reducer `acc`: it is in another module, "
        "which is not rewritten for this one (`acc` is passed to macro `rows` in line 10, as "
        "`into`)"
    ]
    assert _said(tmp_path / "kernel.py", text) == [
        "10:9 RM222 reducer `acc` mixes v1 and v2: augmented assignment is v1, T.reducer_init on "
        "line 9 is v2 (`acc` is passed to macro `rows` in line 10, as `into`)"
    ]


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from missing import rows", "rows(acc, A)"),
        ("from helpers import plain", "plain(acc, A)"),
        ("from helpers import jitted", "jitted(acc, A)"),
        ("from helpers import rebound", "rebound(acc, A)"),
        ("from helpers import rows", "rows(*[acc, A])"),
        ("from helpers import rows", "rows(acc, A, 3)"),
        ("from helpers import rows", "rows(acc, S=A, more=3)"),
        ("from helpers import rows", "rows(acc)"),
    ],
)
def test_what_is_no_call_of_a_known_macro_is_not_followed(
    tmp_path: Path, imports: str, call: str
) -> None:
    (tmp_path / "helpers.py").write_text(
        f"{V2}\n\ndef plain(into, S):\n    pass\n"
        "\n\n@other\n@T.macro\ndef jitted(into, S):\n    pass\n"
        "\n\nrebound = rows\nrebound = both\n"
    )
    found = _said(tmp_path / "kernel.py", EPOCH.format(imports=imports, call=call))
    assert [line.split()[:2] for line in found] == [[found[0].split()[0], "RM218"]]
    assert found[0].startswith("10:")


FAULTS = """\
import tilelang.language as T


@T.macro
def close(a, r):
    T.finalize_reducer(a, r)


@T.macro
def late(a, S, flag):
    if flag:
        for i in T.Parallel(8):
            T.reducer_update(a[i], S[i, 0])


@T.macro
def bare(a, S):
    T.reducer_update(a[0], S[0, 0])
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            "close(acc, result)",
            ["28:9 RM209 reducer `acc` is finalized a second time; the first is on line 6"],
        ),
        (
            "late(acc, A, True); close(acc, result); late(acc, A, True)",
            [
                "13:13 RM205 `acc[i]` is updated after the finalize of reducer `acc` on line 6 "
                "(`acc` is passed to macro `late` in line 27, as `a`)",
                "28:9 RM209 reducer `acc` is finalized a second time; the first is on line 6",
            ],
        ),
        (
            "bare(acc, A)",
            [
                "18:5 RM213 `acc[0]` is updated outside any T.Parallel loop, so how often "
                "it counts is undefined "
                "(`acc` is passed to macro `bare` in line 27, as `a`)"
            ],
        ),
    ],
)
def test_faults_in_macros_are_those_of_the_callers_epoch(call: str, said: list[str]) -> None:
    text = EPOCH.format(imports="", call=call).replace("import tilelang.language as T\n", FAULTS)
    assert _said(Path("<stdin>"), text) == said


TWO = """\

@T.prim_func
def {kernel}(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=128):
        {name} = T.alloc_reducer((8,), "float32", replication="all")
        T.clear({name})
        rows({name}, A)
        T.finalize_reducer({name})
        T.copy({name}, B)
"""


def test_a_statement_that_two_reducers_share_is_said_and_written_once() -> None:
    alone = V1.split("@T.macro\ndef both")[0]
    kernels = (("first", "acc"), ("second", "total"), ("third", "acc"))
    text = alone + "".join(TWO.format(kernel=kernel, name=name) for kernel, name in kernels)
    source = Source.of(text)
    analysis = analyse(source, OPTIONS)
    assert [str(d.start.line) + d.message for d in analysis.diagnostics if d.code == "RM104"] == [
        "7`into[i]` is updated by augmented assignment "
        "(`acc` is passed to macro `rows` in line 16, as `into`)"
    ]
    done = rewrite(source, analysis, OPTIONS)
    assert (done.reducers, len(analysis.groups)) == (3, 1)
    assert done.text.count("        T.reducer_update(into[i], S[i, j])\n") == 1
    assert analyse(Source.of(done.text), OPTIONS).diagnostics == ()

"""The public functions, and that importing the package loads nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import reducer_migrate
from reducer_migrate import Diagnostic, Result, lint, migrate

V1 = """\
def kernel(T, A, B):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32", replication="all")
        T.clear(acc)
        for i in T.Parallel(8):
            acc[0] += A[i]
        T.finalize_reducer(acc)
        T.copy(acc, B)
"""
V2 = """\
def kernel(T, A, B):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32")
        acc_result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(8):
            T.reducer_update(acc[0], A[i])
        T.finalize_reducer(acc, acc_result)
        T.copy(acc_result, B)
"""
CODES = ["RM101", "RM103", "RM104", "RM107"]
#: With what is wrong about it on the releases that compile it as it is.
FOUND = ["RM101", "RM103", "RM104", "RM301", "RM107"]


def codes(diagnostics):
    return [diagnostic.code for diagnostic in diagnostics]


def test_lint_finds_with_positions():
    found = lint(V1, path="kernel.py")
    assert codes(found) == FOUND
    assert isinstance(found[0], Diagnostic)
    assert (found[2].path, found[2].start.line, found[2].start.column) == ("kernel.py", 6, 13)


def test_migrate_rewrites():
    result = migrate(V1)
    assert isinstance(result, Result)
    assert (result.text, result.changed, codes(result.fixed), result.remaining) == (
        V2,
        True,
        CODES,
        (),
    )
    assert migrate(V2) == Result(V2, False, (), ())


def test_bytes_are_decoded_as_they_declare():
    raw = ("# -*- coding: latin-1 -*-\n# \u00fc\n" + V1).encode("latin-1")
    assert codes(lint(raw)) == FOUND
    assert migrate(raw).text == "# -*- coding: latin-1 -*-\n# \u00fc\n" + V2


def test_selection_and_comments_count():
    assert codes(lint(V1, select=["RM104"], ignore=["RM103"])) == ["RM104"]
    silenced = V1.replace("A[i]\n", "A[i]  # reducer: noqa[RM104]\n")
    assert codes(lint(silenced)) == ["RM101", "RM103", "RM301", "RM107"]
    assert migrate(silenced).text == silenced
    assert migrate(V1, ignore=["RM104"]).text == V1


def test_the_release_and_reducer_compat_decide():
    refused = migrate(V1, tilelang="0.1.10")
    assert (refused.text, "RM005" in codes(refused.remaining)) == (V1, True)
    assert migrate(V1, tilelang="0.1.10", compat=True).text == V2
    added = migrate(V1, tilelang="0.1.10", add_import=True).text
    assert added.startswith("import reducer_compat")
    assert added.endswith(V2)
    assert {d.severity.value for d in lint(V1, tilelang="0.1.10") if d.code in CODES} == {"note"}
    assert {d.severity.value for d in lint(V1, tilelang="0.1.14") if d.code in CODES} == {"error"}


def test_the_dialect_is_converted_only_on_request():
    assert migrate(V2).text == V2
    assert "T.reducer_update(acc, 0, A[i])" in migrate(V2, dialect="rfc").text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("acc = T.alloc_reducer(\n", ("RM001", 1)),
        (b"# coding: ascii\n# \xff alloc_reducer\n", ("RM002", 1)),
        ("# alloc_reducer \ud800\n", ("RM002", 1)),
        ("# coding: ascii\n# \u00fc\nacc = T.alloc_reducer(\n", ("RM001", 3)),
    ],
)
def test_source_that_cannot_be_read_is_a_finding(source, expected):
    (found,) = lint(source)
    assert (found.code, found.start.line) == expected
    result = migrate(source)
    assert (result.changed, codes(result.remaining)) == (False, [expected[0]])
    assert (
        result.text.encode(errors="surrogateescape") == source
        if isinstance(source, bytes)
        else result.text == source
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tilelang": "new"}, "not a TileLang release: 'new'"),
        ({"dialect": "v2"}, "unknown dialect 'v2', expected one of shipped, rfc"),
        ({"select": ["RM1O4"]}, "unknown rule code 'RM1O4'; did you mean 'RM104'?"),
        ({"ignore": ["RM1O4"]}, "unknown rule code 'RM1O4'; did you mean 'RM104'?"),
    ],
)
@pytest.mark.parametrize("function", [lint, migrate])
def test_wrong_arguments_are_value_errors(function, options, message):
    with pytest.raises(ValueError, match=r"unknown|not a") as caught:
        function(V1, **options)
    assert str(caught.value).startswith(message)


def test_several_threads_may_call():
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(migrate, [V1.replace("acc", f"a{n}") for n in range(24)]))
    assert [result.text for result in results] == [V2.replace("acc", f"a{n}") for n in range(24)]


def test_the_package_lists_its_public_names_and_no_others_exist():
    assert {"Diagnostic", "Result", "lint", "migrate"} <= set(dir(reducer_migrate))
    with pytest.raises(AttributeError, match="has no attribute 'lnt'"):
        _ = reducer_migrate.lnt


def test_importing_the_package_loads_nothing_of_it():
    code = (
        "import sys, reducer_migrate\n"
        "print(sorted(m for m in sys.modules if m.startswith(('reducer_', 'libcst', 'rich'))))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "['reducer_migrate']\n"

"""The contribution that a rewrite writes, form by form."""

from __future__ import annotations

import pytest

from reducer_migrate import migrate
from reducer_migrate.engine import Options, analyse
from reducer_migrate.rewriting import Rewrite, rewrite
from reducer_migrate.source import Source


def migrated(body: str) -> Rewrite:
    source = Source.of(body)
    return rewrite(source, analyse(source, Options()), Options())


def line_of(result: Rewrite) -> str:
    return next(line.strip() for line in result.text.splitlines() if "reducer_update" in line)


def epoch(update: str, op: str = "sum", dtype: str = "float32") -> str:
    return (
        f'acc = T.alloc_reducer((1,), "{dtype}", op="{op}", replication="all")\n'
        f"T.clear(acc)\nfor i in T.Parallel(8):\n    {update}\n"
        "T.finalize_reducer(acc)\nT.copy(acc, B)\n"
    )


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ("acc[0] += a * b", "T.reducer_update(acc[0], a * b)"),
        ("acc[0] += a if c else b", "T.reducer_update(acc[0], a if c else b)"),
        ("acc[0] -= a", "T.reducer_update(acc[0], -a)"),
        ("acc[0] -= a.b(c)[d]", "T.reducer_update(acc[0], -a.b(c)[d])"),
        ("acc[0] -= a * b", "T.reducer_update(acc[0], -(a * b))"),
        ("acc[0] -= (a + b)", "T.reducer_update(acc[0], -(a + b))"),
        ("acc[0] -= -a", "T.reducer_update(acc[0], -(-a))"),
        ("acc[0] -= a > b", 'T.reducer_update(acc[0], -T.cast(a > b, "float32"))'),
        ("acc[0] = acc[0] - a // b", "T.reducer_update(acc[0], -(a // b))"),
        ("acc[0] = acc[0] - a - b", "T.reducer_update(acc[0], -a - b)"),
        ("acc[0] = acc[0] - a + b", "T.reducer_update(acc[0], -a + b)"),
        ("acc[0] = acc[0] + a - b", "T.reducer_update(acc[0], a - b)"),
        ("acc[0] = acc[0] + (a - b)", "T.reducer_update(acc[0], a - b)"),
        ("acc[0] = a + acc[0] + b", "T.reducer_update(acc[0], a + b)"),
        ("acc[0] = a + (b + acc[0])", "T.reducer_update(acc[0], a + b)"),
        ("acc[0] = (acc[0] + a) + b", "T.reducer_update(acc[0], a + b)"),
        ("acc[ 0 ] = acc[0] + a", "T.reducer_update(acc[ 0 ], a)"),
        ("(acc)[0] += a", "T.reducer_update((acc)[0], a)"),
        ("acc[0] += a; x = 1", "T.reducer_update(acc[0], a); x = 1"),
        ("acc[0] += a;", "T.reducer_update(acc[0], a);"),
        ("acc[0] += a  # why", "T.reducer_update(acc[0], a)  # why"),
    ],
)
def test_sums(update: str, expected: str) -> None:
    assert line_of(migrated(epoch(update))) == expected


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ("acc[0] = T.max(acc[0], a)", "T.reducer_update(acc[0], a)"),
        ("acc[0] = T.max(a, acc[0])", "T.reducer_update(acc[0], a)"),
        ("acc[0] = max(acc[ 0 ], a + b)", "T.reducer_update(acc[0], a + b)"),
        ("acc[0] = T.max(T.max(acc[0], a), b)", "T.reducer_update(acc[0], T.max(a, b))"),
        ("acc[0] = T.max(b, T.max(a, acc[0]))", "T.reducer_update(acc[0], T.max(b, a))"),
    ],
)
def test_maxima(update: str, expected: str) -> None:
    assert line_of(migrated(epoch(update, "max"))) == expected


def test_a_comment_between_the_operands_of_max_stays() -> None:
    result = migrated(epoch("acc[0] = T.max(acc[0],  # so far\n          a)", "max"))

    assert "T.reducer_update(acc[0],  # so far\n          a)" in result.text


#: A statement that shares its line with a loop has no line of its own to put a comment on.
ABANDONED = """\
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8): acc[0] = (acc[0]  # so far
        + a)
T.finalize_reducer(acc)
"""


def test_a_rewrite_that_would_lose_a_comment_is_abandoned() -> None:
    result = migrated(ABANDONED)

    assert result.text == ABANDONED
    (diagnostic,) = result.remaining
    assert (diagnostic.code, diagnostic.start.line) == ("RM006", 1)
    assert diagnostic.message == "reducer `acc` is not rewritten: a comment would be lost"


def test_one_abandoned_reducer_does_not_hold_back_another() -> None:
    good = epoch("acc[0] += a").replace("acc", "good")
    result = migrated(good + ABANDONED)

    assert "T.reducer_update(good[0], a)" in result.text
    assert "acc[0] = (acc[0]  # so far" in result.text
    assert [diagnostic.code for diagnostic in result.remaining] == ["RM006"]


@pytest.mark.parametrize("before", ["", epoch("acc[0] += a").replace("acc", "good")])
def test_an_abandoned_rewrite_stands_for_the_findings_of_its_reducer(before: str) -> None:
    result = migrate(before + ABANDONED)

    assert [diagnostic.code for diagnostic in result.remaining] == ["RM006"]


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ("acc[0] = (acc[0]  # so far\n        + a)", "T.reducer_update(acc[0], a)  # so far"),
        (
            "acc[0] = (acc[0]  # so far\n        + a)  # type: ignore",
            "# so far\n    T.reducer_update(acc[0], a)  # type: ignore",
        ),
        (
            "acc[0] = (acc[0]  # so far\n        +  # plus\n        a)",
            "# so far\n    # plus\n    T.reducer_update(acc[0], a)",
        ),
        (
            "acc[0] = (a  # this\n        - b  # less\n        + acc[0])",
            "# less\n    T.reducer_update(acc[0], a  # this\n        - b)",
        ),
    ],
)
def test_comments_beside_what_is_taken_out_stay(update: str, expected: str) -> None:
    result = migrated(epoch(update))

    assert f"    {expected}\n" in result.text


@pytest.mark.parametrize(
    ("opening", "op", "dtype", "expected"),
    [
        ("T.clear(acc)", "sum", "float32", "T.reducer_init(acc)"),
        ("T.fill(acc, 0)", "sum", "float32", "T.reducer_init(acc)"),
        ("T.fill(acc, T.float32(0))", "sum", "float32", "T.reducer_init(acc)"),
        ("T.fill(buffer=acc, value=0.0)", "sum", "float32", "T.reducer_init(acc)"),
        ("T.clear(acc)", "max", "float32", "T.reducer_init(acc, 0)"),
        ("T.fill(acc, 0)", "max", "float32", "T.reducer_init(acc, 0)"),
        ("T.fill(acc, -1e30)", "max", "float32", "T.reducer_init(acc, -1e30)"),
        ("T.fill(acc, -T.infinity(dt))", "max", "float32", "T.reducer_init(acc)"),
        ('T.fill(acc, float("-inf"))', "max", "float16", "T.reducer_init(acc)"),
        ('T.fill(acc, T.infinity("float32"))', "min", "float32", "T.reducer_init(acc)"),
        (
            'T.fill(acc, T.min_value("float32"))',
            "max",
            "float32",
            'T.reducer_init(acc, T.min_value("float32"))',
        ),
        ('T.fill(acc, T.min_value("int32"))', "max", "int32", "T.reducer_init(acc)"),
        ('T.fill(acc, T.max_value("int32"))', "min", "int32", "T.reducer_init(acc)"),
        (
            "T.fill(acc, T.float32(0))",
            "max",
            "float16",
            'T.reducer_init(acc, T.cast(T.float32(0), "float16"))',
        ),
        (
            "T.fill(acc, running[0])",
            "max",
            "float32",
            'T.reducer_init(acc, T.cast(running[0], "float32"))',
        ),
        (
            "T.fill(acc, T.cast(x, 'float32'))",
            "max",
            "float32",
            "T.reducer_init(acc, T.cast(x, 'float32'))",
        ),
    ],
)
def test_openings(opening: str, op: str, dtype: str, expected: str) -> None:
    update = "acc[0] += a" if op == "sum" else f"acc[0] = T.{op}(acc[0], a)"
    text = epoch(update, op, dtype).replace("T.clear(acc)", opening)

    assert expected in migrated(text).text.splitlines()


@pytest.mark.parametrize(
    ("alloc", "expected"),
    [
        (
            'T.alloc_reducer((1, ), "float32", replication="all")',
            ['T.alloc_reducer((1, ), "float32")', 'T.alloc_fragment((1, ), "float32")'],
        ),
        (
            "T.alloc_reducer(replication=mode, shape=[1], dtype=dt)",
            ["T.alloc_reducer(shape=[1], dtype=dt)", "T.alloc_fragment([1], dt)"],
        ),
        (
            'T.alloc_reducer((1), dt, "sum", "all")',
            ['T.alloc_reducer((1), dt, "sum")', "T.alloc_fragment((1), dt)"],
        ),
        (
            "lib.tl.alloc_reducer(1, lib.tl.float32)",
            ["lib.tl.alloc_reducer(1, lib.tl.float32)", "lib.tl.alloc_fragment(1, lib.tl.float32)"],
        ),
    ],
)
def test_allocations(alloc: str, expected: list[str]) -> None:
    lines = epoch("acc[0] += a").splitlines()
    text = "\n".join([f"acc = {alloc}", *lines[1:]]) + "\n"
    result = migrated(text).text.splitlines()

    assert result[:2] == [f"acc = {expected[0]}", f"acc_result = {expected[1]}"]


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        ("lo +\n       hi", 'T.reducer_init(acc, T.cast(lo +\n       hi, "float32"))'),
        ("-\n       1.0", "T.reducer_init(acc, -\n       1.0)"),
        (
            "value=lo if c\n       else hi",
            'T.reducer_init(acc, T.cast(lo if c\n       else hi, "float32"))',
        ),
        ("  # floor\n       lo", 'T.reducer_init(acc,  # floor\n       T.cast(lo, "float32"))'),
    ],
)
def test_a_seed_may_span_lines(seed: str, expected: str) -> None:
    update = "acc[0] = T.max(acc[0], a)"
    space = "" if seed.startswith("  #") else " "
    text = epoch(update, "max").replace("T.clear(acc)", f"T.fill(acc,{space}{seed})")

    assert expected in migrated(text).text

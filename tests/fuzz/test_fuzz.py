"""Random kernels come out as the reference has them, and the fuzzer sees it when they do not.

The kernels come from fixed seeds. `REDUCER_FUZZ_COUNT` runs another number of them.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fuzz import journal, reference, session
from tests.fuzz.expression import (
    Binary,
    IllegalError,
    InexactError,
    Load,
    Number,
    Result,
    Unary,
    Var,
    mentions,
)
from tests.fuzz.generate import DTYPES, OPS, THREADS, generate
from tests.fuzz.kernel import (
    Allocate,
    Array,
    Close,
    CopyOut,
    If,
    Kernel,
    Loop,
    Open,
    Output,
    Reducer,
    Stmt,
    Store,
    Update,
    decoded,
    encoded,
    walk,
)
from tests.fuzz.outcome import Outcome, summary
from tests.fuzz.plan import Share, everywhere, in_turns
from tests.fuzz.render import SPELLINGS, module
from tests.fuzz.session import run
from tests.fuzz.shrink import candidates, shrunk
from tests.fuzz.verdict import Verdict

SEED = 5
#: Kernels on the newest release. An older one runs three of them.
COUNT = 36

#: Runs files as programs in one process, whose start takes seconds, and prints their exit codes.
BOTH = """
import runpy, sys
for path in sys.argv[1:]:
    code = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        code = end.code or 0
    print("exit code", code)
"""

needs_tilelang = pytest.mark.skipif(
    importlib.util.find_spec("tilelang") is None, reason="tilelang is not installed"
)


def row_sums(
    op: str = "sum", value: Any = None, dtype: str = "float32", seed: int | None = None
) -> Kernel:
    """Four sums of six numbers each, in the hand of the test."""
    array = Array("A0", (4, 6), dtype, (1, 2, 3), 7)
    load = Load("A0", (Var("i"), Var("j")))
    update = Update("r0", (Var("i"),), load if value is None else value)
    return Kernel(
        "0-0",
        "sm_75",
        1,
        32,
        (array,),
        (),
        (Reducer("r0", op, dtype, (4,), None if seed is None else Number(seed), True),),
        (Output("O0", (1, 4), dtype),),
        (
            Allocate("r0"),
            Open("r0"),
            Loop("parallel", ("i", "j"), (4, 6), (update,)),
            Close("r0"),
            CopyOut("r0", "O0", (Var("bx"),)),
        ),
    )


# -- the comparison ---------------------------------------------------------------------------


@needs_tilelang
def test_random_kernels_are_right() -> None:
    """Native after the codemod, and ours in every spelling, against the reference."""
    from tests.compat.share import dealt

    release = _installed()
    count = int(os.environ.get("REDUCER_FUZZ_COUNT", COUNT))
    numbers = dealt(range(count), hands=12)
    shares = everywhere([release], numbers)
    outcomes = run({release: None}, SEED, shares, jobs=min(2, os.cpu_count() or 1))

    different = [
        f"{outcome.name} {outcome.lane}: {outcome.verdict}"
        for outcome in outcomes
        if outcome.different
    ]
    assert different == [], summary(outcomes)
    right = [outcome for outcome in outcomes if outcome.verdict.status == "right"]
    assert len(right) > len(outcomes) / 2, summary(outcomes)
    assert {outcome.name for outcome in outcomes} == {f"{SEED}-{n}" for n in numbers}


# -- campaigns --------------------------------------------------------------------------------


def _lanes(shares: list[Share], release: str) -> dict[int, tuple[str, ...]]:
    mine = [share for share in shares if share.release == release]
    return {number: lanes for share in mine for number, lanes in share.kernels}


def test_in_turns_the_newest_runs_every_kernel_and_each_other_release_every_lane() -> None:
    shares = in_turns(("0.1.8", "0.1.10", "0.1.13", "0.1.14", "0.1.15"), range(600))

    newest = _lanes(shares, "0.1.15")
    assert set(newest) == set(range(600))
    assert all(lanes[0] == "native" for lanes in newest.values())
    ours = {"legacy", "shipped", "rfc", "converted", "wide"}
    assert {lanes[1] for lanes in newest.values()} == {*ours, "auto"}
    others = [_lanes(shares, release) for release in ("0.1.8", "0.1.10", "0.1.13")]
    assert all({lane for lanes in one.values() for lane in lanes} == ours for one in others)
    held = {lane for lanes in _lanes(shares, "0.1.14").values() for lane in lanes}
    assert held == {*ours, "auto", "native"}
    assert sum(len(share.kernels) for share in shares) == 1200


def test_a_campaign_goes_on_where_its_journal_ends(tmp_path: Path) -> None:
    shares = everywhere(["0.1.13", "0.1.15"], range(3), ["legacy", "wide"])
    done = [
        Outcome("9-0", "0.1.13", "legacy", Verdict("right")),
        Outcome("9-0", "0.1.13", "wide", Verdict("wrong", "O0[1] is 2", "runtime", ("RM301",))),
        Outcome("9-1", "0.1.13", "legacy", Verdict("right", remarks=("uncounted: k",))),
        Outcome("9-0", "0.1.15", "wide", Verdict("crashed")),
    ]
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(map(journal.line, done)) + '{"kernel": "9-2", "rel')
    journal.mend(path)
    assert journal.read([path]) == done

    left = journal.left(shares, 9, journal.read([path]))
    assert _lanes(left, "0.1.13") == {1: ("wide",), 2: ("legacy", "wide")}
    assert _lanes(left, "0.1.15") == {1: ("legacy", "wide"), 2: ("legacy", "wide")}, "it ended"


@needs_tilelang
def test_a_release_that_cannot_start_ends_the_campaign(tmp_path: Path) -> None:
    (tmp_path / "tilelang").mkdir()
    (tmp_path / "tilelang" / "__init__.py").write_text("raise ImportError('no libraries')\n")
    with pytest.raises(session.StartError, match=r"at its start: .*no libraries"):
        run({"0.1.13": tmp_path}, SEED, everywhere(["0.1.13"], range(2)))


def test_journals_are_merged_and_a_later_outcome_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    outcome = Outcome("9-0", "0.1.13", "legacy", Verdict("late"))
    first.write_text(journal.line(outcome))
    second.write_text(journal.line(replace(outcome, verdict=Verdict("right"))))
    merged = journal.read([first, second])
    assert [one.verdict.status for one in merged] == ["right"]
    assert summary(merged).splitlines()[-1] == "1 kernels, 1 runs: 1 right"
    first.write_text('{"kernel": "9-0"}\n')
    with pytest.raises(journal.JournalError, match=r"1\.jsonl:1: no outcome"):
        journal.read([first])


# -- the generator ----------------------------------------------------------------------------


def test_a_seed_and_a_number_name_one_kernel() -> None:
    assert [generate(3, n) for n in range(5)] == [generate(3, n) for n in range(5)]
    assert len({module(generate(3, n), "shipped") for n in range(30)}) == 30


def test_a_kernel_survives_json() -> None:
    for number in range(30):
        kernel = generate(3, number)
        assert decoded(json.loads(json.dumps(encoded(kernel)))) == kernel


def test_kernels_are_as_varied_as_they_should_be() -> None:
    kernels = [generate(4, number) for number in range(150)]
    statements = [stmt for kernel in kernels for stmt in walk(kernel.body)]
    loops = {stmt.kind for stmt in statements if isinstance(stmt, Loop)}
    reducers = [reducer for kernel in kernels for reducer in kernel.reducers]
    sites = [sum(isinstance(s, Update) for s in walk(kernel.body)) for kernel in kernels]

    assert loops == {"parallel", "nested", "serial", "unroll", "range", "pipelined"}
    assert {len(kernel.reducers) for kernel in kernels} == {1, 2, 3}
    assert {1, 2, 3, 4} <= set(sites)
    assert {reducer.op for reducer in reducers} == set(reference._COMBINE)
    assert {len(reducer.shape) for reducer in reducers} == {1, 2, 3, 4}
    assert any(reducer.seed is not None for reducer in reducers)
    assert any(reducer.batch != 1 for reducer in reducers)
    assert any(isinstance(stmt, If) for stmt in statements)
    assert any(isinstance(stmt, Store) and stmt.augmented for stmt in statements)
    assert any(kernel.threads % 32 for kernel in kernels)


def _sites(kernel: Kernel) -> Iterator[tuple[Update, tuple[str, ...], list[Stmt]]]:
    """The updates in parallel loops: the variables of the nest, and all that is in it."""
    for loop in (stmt for stmt in walk(kernel.body) if isinstance(stmt, Loop) and stmt.parallel):
        inside = list(walk(loop.body))
        names = [loop.variables, *(s.variables for s in inside if isinstance(s, Loop))]
        for stmt in inside:
            if isinstance(stmt, Update):
                yield stmt, tuple(itertools.chain(*names)), inside


def _named(update: Update) -> list[str]:
    return [index.name for index in update.indices if isinstance(index, Var)]


def _guarded(kernel: Kernel, arm: str) -> bool:
    branches = (stmt for stmt in walk(kernel.body) if isinstance(stmt, If))
    return any(isinstance(s, Update) for b in branches for s in walk(getattr(b, arm)))


def _reads_a_result(kernel: Kernel, kind: type[Update] | type[Store]) -> bool:
    names = {reducer.name for reducer in kernel.reducers}
    stmts = (stmt for stmt in walk(kernel.body) if isinstance(stmt, kind))
    return any(names & mentions(stmt.value) for stmt in stmts)


def _loops_around(kernel: Kernel, kind: str) -> bool:
    loops = (s for s in walk(kernel.body) if isinstance(s, Loop) and s.kind == kind)
    return any(isinstance(inner, Update) for loop in loops for inner in walk(loop.body))


#: What the generator has to draw, and how it shows in a description.
FEATURES: dict[str, Callable[[Kernel], bool]] = {
    **{f"{n} reducers": lambda k, n=n: len(k.reducers) == n for n in (1, 2, 3)},
    **{f"op {op}": lambda k, op=op: any(r.op == op for r in k.reducers) for op in OPS},
    **{f"dtype {d}": lambda k, d=d: any(r.dtype == d for r in k.reducers) for d in DTYPES},
    **{f"{n} threads": lambda k, n=n: k.threads == n for n in THREADS},
    **{
        f"a site in a {kind} loop": lambda k, kind=kind: _loops_around(k, kind)
        for kind in ("parallel", "nested", "serial", "unroll", "range", "pipelined")
    },
    **{
        f"{n} sites": lambda k, n=n: sum(isinstance(s, Update) for s in walk(k.body)) == n
        for n in (1, 2, 3, 4)
    },
    **{f"rank {n}": lambda k, n=n: any(len(r.shape) == n for r in k.reducers) for n in (1, 2, 3)},
    "a predicate": lambda k: _guarded(k, "then"),
    "its other arm": lambda k: _guarded(k, "other"),
    "a constant index": lambda k: any(
        all(isinstance(i, Number) for i in u.indices) for u, _, _ in _sites(k)
    ),
    "permuted indices": lambda k: any(
        _named(u) != sorted(_named(u), key=names.index)
        for u, names, _ in _sites(k)
        if set(_named(u)) <= set(names)
    ),
    "a computed index": lambda k: any(
        isinstance(i, Binary) for u, _, _ in _sites(k) for i in u.indices
    ),
    "a seed": lambda k: any(r.seed is not None for r in k.reducers),
    "a batch": lambda k: any(r.batch > 1 for r in k.reducers),
    "a fragment written beside updates": lambda k: any(
        isinstance(s, Store) and k.named(s.buffer) in k.buffers
        for _, _, inside in _sites(k)
        for s in inside
    ),
    "a result in an update": lambda k: _reads_a_result(k, Update),
    "a result in a store": lambda k: _reads_a_result(k, Store),
    "v1 throughout": lambda k: all(r.legacy for r in k.reducers),
    "v2 beside v1": lambda k: len({r.legacy for r in k.reducers}) == 2,
    "the RFC's implicit opening": lambda k: any(r.implicit for r in k.reducers),
    **{
        f"copies for {arch}": lambda k, arch=arch: k.arch == arch
        for arch in ("sm_75", "sm_80", "sm_90")
    },
}


@pytest.fixture(scope="module")
def drawn() -> list[Kernel]:
    return [generate(6, number) for number in range(400)]


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_is_drawn(drawn: list[Kernel], feature: str) -> None:
    assert any(map(FEATURES[feature], drawn))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_python(spelling: str) -> None:
    for number in range(40):
        compile(module(generate(5, number), spelling), f"{number}.py", "exec")


# -- the reference ----------------------------------------------------------------------------


def test_the_reference_counts_every_contribution_once() -> None:
    kernel = row_sums()
    rows = kernel.arrays[0].content().astype(int).tolist()
    assert reference.outputs(kernel)[0].tolist() == [[sum(row) for row in rows]]


def test_a_seed_enters_each_output_once() -> None:
    plain = reference.outputs(row_sums())[0]
    assert (reference.outputs(row_sums(seed=10))[0] == plain + 10).all()


def test_integers_wrap_as_on_a_gpu() -> None:
    content = reference.outputs(row_sums(value=Number(100), dtype="uint8"))[0]
    assert content.tolist() == [[600 % 256] * 4]


@pytest.mark.parametrize(
    "kernel",
    [
        row_sums(value=Number(1 << 22)),
        row_sums(op="prod", value=Number(3)),
        row_sums(value=Unary("-", Number(1), "uint8"), dtype="uint8"),
        row_sums(value=Binary("*", Number(100), Number(100), "int8"), dtype="int8"),
    ],
    ids=["sum", "product", "unsigned", "overflow"],
)
def test_what_rounding_or_overflow_would_decide_is_refused(kernel: Kernel) -> None:
    with pytest.raises(InexactError):
        reference.outputs(kernel)


def _without(kernel: Kernel, kind: type) -> Kernel:
    return replace(kernel, body=tuple(s for s in kernel.body if not isinstance(s, kind)))


@pytest.mark.parametrize(
    "kernel",
    [
        _without(row_sums(), Open),
        _without(row_sums(), Close),
        _without(row_sums(), CopyOut),
        row_sums(value=Load("A0", (Var("j"), Var("i")))),
        row_sums(value=Result("r0", (Number(0),))),
        row_sums(op="bitor"),
    ],
    ids=["unopened", "unclosed", "unwritten", "out of bounds", "read while open", "bits of floats"],
)
def test_what_nobody_may_write_is_refused(kernel: Kernel) -> None:
    with pytest.raises(IllegalError):
        reference.outputs(kernel)


# -- shrinking and reproducers ----------------------------------------------------------------


def test_shrinking_keeps_what_matters_and_takes_away_the_rest() -> None:
    """Down to one reducer, one site and the smallest shapes that still have a modulo in them."""

    def legal_with_a_modulo(kernel: Kernel) -> bool:
        try:
            reference.outputs(kernel)
        except (IllegalError, InexactError):
            return False
        return any(
            isinstance(stmt, Update) and " % " in module(kernel, "shipped")
            for stmt in walk(kernel.body)
        )

    number = next(n for n in range(100) if legal_with_a_modulo(generate(6, n)))
    smallest, _ = shrunk(generate(6, number), legal_with_a_modulo, tries=3000)

    assert legal_with_a_modulo(smallest)
    assert len(smallest.reducers) == 1
    assert sum(isinstance(stmt, Update) for stmt in walk(smallest.body)) == 1
    assert (
        max(extent for s in walk(smallest.body) if isinstance(s, Loop) for extent in s.extents) <= 2
    )


def test_every_step_changes_the_kernel() -> None:
    kernel = generate(6, 0)
    steps = list(candidates(kernel))
    assert kernel not in steps
    assert len(steps) == len(set(steps)) > 20


@needs_tilelang
def test_a_broken_runtime_is_found_shrunk_and_written_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A guard that lets every replica contribute is the fault that reducers began with."""
    import reducer_compat
    from reducer_compat.adapter import adapter

    if adapter().partitions_stores_alone:
        pytest.skip("there this kernel is right without the guard, too: the runtime spreads it")
    from reducer_compat.passes import guard
    from tests.fuzz import worker

    reducer_compat.install()
    monkeypatch.setattr(guard, "_one", lambda stmt, owner: None)
    kernel = _replicated()
    verdict = worker.judged(kernel, "shipped")
    assert (verdict.status, verdict.culprit) == ("refused", "runtime"), "the runtime counts"
    assert not verdict.accounted

    answer = worker.answer(
        {"kernel": encoded(kernel), "shrink": "shipped", "tries": 40}, _installed()
    )
    path, wrong = tmp_path / "reproducer.py", tmp_path / "wrong.py"
    path.write_text(answer["text"])
    changed = answer["text"].replace(
        "wanted = [\n    np.array([[", "wanted = [\n    1 + np.array([["
    )
    wrong.write_text(changed)
    monkeypatch.undo()
    # The runtime of a process of its own is whole, so that there the same file finds no fault.
    both = [sys.executable, "-c", BOTH, str(path), str(wrong)]
    done = subprocess.run(both, capture_output=True, text=True, env=_paths())
    assert "no faults\nright\nexit code 0\n" in done.stdout, done.stdout + done.stderr
    assert "wrong: " in done.stdout
    assert done.stdout.endswith("exit code 1\n")


def _installed() -> str:
    import tilelang

    return str(tilelang.__version__).split("+")[0]


def _paths() -> dict[str, str]:
    root = Path(__file__).resolve().parents[2]
    own = [str(root / "rules"), str(root / "compat")]
    held = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*([held] if held else []), *own])}


def _replicated() -> Kernel:
    """A loop over a fragment of 16 elements on 32 threads, which runs it twice."""
    from tests.fuzz.kernel import Buffer, Copy

    load = Load("A0_f", (Var("i"),))
    body: tuple[Stmt, ...] = (
        Allocate("r0"),
        Open("r0"),
        Copy("A0", (Number(0),), "A0_f", True),
        Loop("parallel", ("i",), (16,), (Update("r0", (Number(0),), load),)),
        Close("r0"),
        CopyOut("r0", "O0", (Var("bx"),)),
    )
    return Kernel(
        "0-1",
        "sm_75",
        1,
        128,
        (Array("A0", (16,), "float32", (1, 2), 3),),
        (Buffer("A0_f", (16,), "float32", "fragment"),),
        (Reducer("r0", "sum", "float32", (1,), None, True),),
        (Output("O0", (1, 1), "float32"),),
        body,
    )


def test_arrays_hold_what_their_seed_gives() -> None:
    array = Array("A0", (3,), "int8", (5,), 1)
    assert array.content().dtype == np.int8
    assert array.content().tolist() == [5, 5, 5]

"""What a user sees when a count fails: another plan, an error with its place, or a warning."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reducer_compat
from reducer_compat import ReducerError, ladder, pipeline, simt, tree
from reducer_compat.adapter import adapter
from reducer_compat.errors import UncountedWarning
from reducer_compat.ladder import Feature
from reducer_compat.passes.prove import Verdict, intended, prove
from reducer_rules.release import Release
from tests.compat.lowering import source
from tests.compat.prove import mutants
from tests.compat.prove.harness import lowered, patched
from tests.compat.test_kernels import CASES
from tests.kernels import Case, sites

Change = Callable[[Any], Any]


def case_of(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def with_function(name: Callable[[str], str]) -> Change:
    """Replace the function that a kernel combines lanes with."""

    def change(func: Any) -> Any:
        tir = adapter().tir

        def one(node: Any) -> Any:
            text = str(node.value) if isinstance(node, tir.StringImm) else ""
            return tir.StringImm(name(text)) if text.startswith("tl::AllReduce") else None

        return func.with_body(tir.stmt_functor.ir_transform(func.body, None, one))

    return change


def broken(change: Change, when: Callable[[], bool] = lambda: True) -> Any:
    """The pipeline with `change` made after `LowerTileOp`."""
    emit = pipeline.emit
    return patched(emit=lambda func: change(emit(func)) if when() else emit(func))


HALF = with_function(
    lambda text: re.sub(r", (\d+), 1,", lambda found: f", {int(found[1]) // 2}, 1,", text)
)
UNKNOWN = with_function(lambda text: "my::reduce")


def test_a_wrong_kernel_is_refused_with_update_thread_and_iteration() -> None:
    with broken(HALF), pytest.raises(ReducerError) as caught:
        source(sites.two_widths())
    error = caught.value
    lines, first = inspect.getsourcelines(sites.two_widths)
    updates = [first + k for k, text in enumerate(lines) if "acc[i] +=" in text]
    assert error.code == "RC006"
    assert error.location in [f"{sites.__file__}:{line}" for line in updates]
    assert error.kernel == "kernel"
    assert re.fullmatch(
        r"the update of iteration i=(\d), j=\d+ does not enter output \[\1\] of reducer acc "
        r"in thread \d+; it is run by thread \d+ \(counted on the lowered kernel\)",
        error.message,
    )


def test_a_warp_specialized_kernel_is_refused_only_where_it_fails_without_that_too() -> None:
    case = case_of("gemv_16x128_128_2_shared")
    change = with_function(lambda text: text.replace("SumOp", "MaxOp"))
    with broken(change), pytest.raises(ReducerError) as caught:
        source(case.build(), "sm_90")
    assert caught.value.fix.startswith("report this kernel")


def whatever_the_length(func: Any) -> Any:
    """Have a pipeline run all that it has written out behind its loop."""
    realize = adapter().block_realize

    def enter(stmt: Any, inside: Any) -> Any:
        if tree.constant(stmt.predicate) is not None:
            return None
        return realize(stmt.iter_values, adapter().tir.IntImm("bool", 1), inside(stmt.block))

    return tree.rewritten_by(func, {realize: enter})


@pytest.mark.skipif(adapter().pipelines_late, reason="makes pipelines after the count")
@pytest.mark.parametrize("name", ["symbolic_tiles", "symbolic_lengths", "symbolic_sequences"])
def test_a_pipeline_that_runs_turns_which_no_short_length_has_is_refused(name: str) -> None:
    """The kernel is right wherever there are as many turns as stages."""
    with broken(whatever_the_length, lambda: not ladder.gave_up(Feature.NARROW)):
        source(case_of(name).build())
    assert [str(one.feature) for one in reducer_compat.status().descents[-1:]] == ["narrower plan"]
    assert "RC006" in reducer_compat.status().descents[-1].reason


def beside(func: Any) -> Any:
    """Have each thread write behind its partials, too."""
    tir = adapter().tir

    def enter(stmt: Any) -> Any:
        if not isinstance(stmt, tir.BufferStore) or "_partial" not in str(stmt.buffer.name):
            return None
        behind = tir.BufferStore(stmt.buffer, stmt.value, stmt.buffer.shape)
        return tir.SeqStmt([stmt, behind])

    return tree.rewritten(func, enter)


def test_a_thread_that_writes_beside_its_partials_is_refused() -> None:
    """What it writes there nobody reads, so no sum is wrong."""
    with broken(beside), pytest.raises(ReducerError) as caught:
        source(case_of("row_sum_8x128_256_shared").build())
    assert caught.value.code == "RC006"
    assert re.fullmatch(
        r"thread 0 writes element (\d+) of \w+_partial, which has \1, in an epoch of reducer acc "
        r"\(counted on the lowered kernel\)",
        caught.value.message,
    )
    assert str(caught.value.location).rpartition(":")[2].isdigit()


def test_a_plan_that_was_asked_to_be_wide_is_lowered_without_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is no wider one to try, but TileLang's features can still be given up."""
    monkeypatch.setenv("REDUCER_COMPAT_PLAN", "wide")
    case = case_of("gemv_16x128_128_2_shared")
    with broken(beside, when=lambda: not ladder.gave_up(Feature.SPECIALIZED)):
        source(case.build(), "sm_90")
    (latest,) = reducer_compat.status().descents[-1:]
    assert latest.feature is Feature.SPECIALIZED
    assert "RC006" in latest.reason


def test_a_plan_that_was_asked_to_be_wide_may_go_uncounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDUCER_COMPAT_PLAN", "wide")
    with broken(unknown), pytest.warns(UncountedWarning, match="contributions pass through"):
        source(case_of("row_sum_8x128_256_shared").build())


def unknown(func: Any) -> Any:
    """Hand the partials of a thread to a function that nobody knows."""
    tir = adapter().tir

    def enter(stmt: Any) -> Any:
        if not isinstance(stmt, tir.BufferStore) or "_partial" not in str(stmt.buffer.name):
            return None
        call = adapter().op("call_extern")
        args = [tir.StringImm("my::touch"), tir.BufferLoad(stmt.buffer, stmt.indices)]
        return tir.SeqStmt([stmt, tir.Evaluate(tir.Call("handle", call, args))])

    return tree.rewritten(func, enter)


def test_a_narrow_plan_that_fails_gives_way_to_a_wide_one() -> None:
    case = case_of("row_sum_8x128_256_shared")
    with broken(HALF, when=lambda: not ladder.gave_up(Feature.NARROW)):
        got = simt.run(case.build(), *case.arguments(), out_idx=-1)
    np.testing.assert_array_equal(got, case.reference(case.arguments()))
    verdict = reducer_compat.status().counts[-1]
    assert verdict.counted
    assert verdict.notes[0].startswith("narrower plan given up: ")
    assert "RC006" in verdict.notes[0]
    source(case.build())
    assert not any("given up" in note for note in reducer_compat.status().counts[-1].notes)


def test_what_cannot_be_followed_is_told_and_compiled() -> None:
    with broken(UNKNOWN), pytest.warns(UncountedWarning, match="contributions pass through"):
        text = source(case_of("row_sum_8x128_256_shared").build())
    assert "my::reduce" in text
    planned, last = reducer_compat.status().counts[-2:]
    assert planned.counted
    assert not last.counted
    assert "not counted" in str(last)


def test_a_plan_is_counted_where_what_became_of_it_is_not_counted_exactly() -> None:
    case, stages = case_of("row_sum_8x128_256_shared"), []

    def counted(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Verdict:
        stages.append(stage)
        return prove(func, stage, notes)

    with patched(prove=counted):
        source(case.build())
        assert stages == ["lowered"]
        with broken(UNKNOWN), pytest.warns(UncountedWarning):
            source(case.build())
        assert stages[1:] == ["lowered", "planned"] * 2
        with broken(HALF), pytest.raises(ReducerError, match="counted on the lowered kernel"):
            source(case.build())
        assert stages[5:] == ["lowered", "planned"] * 2


def with_another_functor(func: Any) -> Any:
    """The kernel with lanes combined by another operation than threads are."""
    return with_function(lambda text: text.replace("SumOp", "MaxOp"))(func)


def test_a_wrong_plan_is_refused_as_one() -> None:
    """Not as what TileLang made of it, which is wrong as well."""
    settled = pipeline.settled
    with (
        patched(settled=lambda func: with_another_functor(settled(func))),
        pytest.raises(ReducerError) as caught,
    ):
        source(case_of("row_sum_8x128_256_shared").build())
    assert caught.value.code == "RC006"
    assert caught.value.message.endswith("(counted on the planned kernel)")


def test_a_wide_plan_is_tried_before_a_kernel_goes_uncounted() -> None:
    with broken(UNKNOWN, when=lambda: not ladder.gave_up(Feature.NARROW)):
        source(case_of("row_sum_8x128_256_shared").build())
    assert reducer_compat.status().counts[-1].counted


def unpartitioned(func: Any) -> Any:
    """The kernel with every `T.Parallel` loop made one that all threads run in full.

    This is what `LowerTileOp` does up to 0.1.10 to loops that it does not partition.
    """
    tir = adapter().tir

    def enter(stmt: Any) -> Any:
        if not isinstance(stmt, tir.For) or stmt.kind != tir.ForKind.PARALLEL:
            return None
        if not mutants.touches(stmt):
            return stmt
        body = tree.transform(stmt.body, enter)
        return adapter().for_loop(stmt, kind=tir.ForKind.SERIAL, annotations={}, body=body)

    return func.with_body(tree.transform(func.body, enter))


@pytest.mark.parametrize("name", ["two_widths", "seeded", "three_axes", "several_reducers"])
def test_a_loop_that_lowering_does_not_partition_fails_the_second_count(name: str) -> None:
    """The first count sees the layout that was asked for; the second what became of it."""
    case, found = case_of(name), []

    def counted(func: Any, stage: str, notes: tuple[str, ...] = ()) -> Verdict:
        for one, where in ((intended(func), "planned"), (func, stage)):
            try:
                found.append((where, prove(one, where).counted))
            except ReducerError as error:
                found.append((where, error.code))
        return Verdict("", stage, True, 0, 0, (), 0.0)

    lower, calls = pipeline._explained, itertools.count()

    def skipping(original: Any, mod: Any, mine: list[Any]) -> Any:
        if next(calls) == 1:  # the first is layout inference
            for one in mine:
                mod = pipeline._updated(mod, one, unpartitioned(mod[one]))
        return lower(original, mod, mine)

    with patched(prove=counted, _explained=skipping):
        kernel = simt.lower(case.build())
    assert found == [("planned", True), ("lowered", "RC006")]
    got = simt.execute_lowered(kernel, *case.arguments(), out_idx=-1).outputs[0]
    assert not np.array_equal(got, case.reference(case.arguments()).reshape(case.output[0]))


def shuffles(distances: tuple[int, ...], name: str) -> Change:
    """Combine lanes by single shuffles instead of `tl::AllReduce`."""

    def change(func: Any) -> Any:
        tir = adapter().tir

        def enter(stmt: Any) -> Any:
            call = getattr(stmt, "value", None)
            if not isinstance(stmt, tir.BufferStore) or not isinstance(call, tir.Call):
                return None
            if "AllReduce" not in str(call.args[0]):
                return None
            return tree.sequence([_step(stmt, distance, name) for distance in distances])

        return func.with_body(tree.transform(func.body, enter))

    return change


def _step(stmt: Any, distance: int, name: str) -> Any:
    here = adapter()
    tir = here.tir
    mine = tir.BufferLoad(stmt.buffer, stmt.indices)
    mask, step = tir.IntImm("uint32", 0xFFFFFFFF), tir.IntImm("int32", distance)
    other = tir.Call(mine.dtype, here.op("call_extern"), [tir.StringImm(name), mask, mine, step])
    return tir.BufferStore(stmt.buffer, mine + other, stmt.indices)


@pytest.mark.parametrize(
    ("distances", "name", "right"),
    [
        ((16, 8, 4, 2, 1), "__shfl_xor_sync", True),
        ((1, 2, 4, 8, 16), "tl::shfl_xor_sync", True),
        ((16, 8, 4, 2, 1), "__shfl_down_sync", True),
        ((16, 8, 4, 2), "__shfl_xor_sync", False),
        ((16, 8, 4, 2, 1, 1), "__shfl_xor_sync", False),
        ((16, 8, 4, 2, 2), "__shfl_down_sync", False),
        ((16, 8, 4, 2, 1), "__shfl_up_sync", False),
    ],
)
def test_other_exchanges_between_lanes_are_counted(
    distances: tuple[int, ...], name: str, right: bool
) -> None:
    """By what they do: only the first lane of a warp hands its sum on."""
    case = case_of("sum_1_of_48_on_128")
    kernel, said = lowered(case, "lowered", shuffles(distances, name))
    got = simt.execute_lowered(kernel, *case.arguments(), out_idx=-1).outputs[0]
    same = np.array_equal(got, case.reference(case.arguments()).reshape(case.output[0]))
    assert (said == [""], same) == (right, right)


def through_a_let(stmt: Any) -> Any:
    tir = adapter().tir
    var = tir.Var("total", str(stmt.value.dtype))
    store = tir.BufferStore(stmt.buffer, var, stmt.indices)
    if hasattr(tir, "LetStmt"):
        return tir.LetStmt(var, stmt.value, store)
    return tir.SeqStmt([tir.Bind(var, stmt.value), store])


def through_a_choice(stmt: Any) -> Any:
    here = adapter()
    tir = here.tir
    mine = tir.BufferLoad(stmt.buffer, stmt.indices)
    condition = tir.IntImm("bool", 1)
    call = tir.Call(mine.dtype, here.op("if_then_else"), [condition, stmt.value, mine])
    return tir.BufferStore(stmt.buffer, call, stmt.indices)


def through_a_select(stmt: Any) -> Any:
    tir = adapter().tir
    mine = tir.BufferLoad(stmt.buffer, stmt.indices)
    zero = tir.const(0, str(mine.dtype))
    chosen = tir.Select(tir.EQ(mine, mine), stmt.value, zero)
    return tir.BufferStore(stmt.buffer, chosen, stmt.indices)


def in_place(stmt: Any) -> Any:
    here = adapter()
    tir = here.tir
    name = "tl::AllReduce<tl::SumOp, 32, 1, 0, tl::SyncThreadsBarrier, 1, 128>::run_batch"
    load = tir.BufferLoad(stmt.buffer, stmt.indices)
    address = tir.Call("handle", here.op("address_of"), [load])
    call = tir.Call("handle", here.op("call_extern"), [tir.StringImm(name), address])
    return tir.Evaluate(call)


def on_all_reduce(rewrite: Callable[[Any], Any]) -> Change:
    """Write the statements that combine lanes in another way."""

    def change(func: Any) -> Any:
        tir = adapter().tir

        def enter(stmt: Any) -> Any:
            call = getattr(stmt, "value", None)
            if isinstance(stmt, tir.BufferStore) and isinstance(call, tir.Call):
                return rewrite(stmt) if "AllReduce" in str(call.args[0]) else None
            return None

        return func.with_body(tree.transform(func.body, enter))

    return change


@pytest.mark.parametrize("rewrite", [through_a_let, through_a_choice, in_place])
def test_other_ways_to_write_a_collective_are_counted(rewrite: Callable[[Any], Any]) -> None:
    case = case_of("sum_1_of_48_on_128")
    kernel, said = lowered(case, "lowered", on_all_reduce(rewrite))
    assert said == [""]
    if rewrite is in_place and adapter().release < Release.parse("0.1.10"):
        return  # its templates have no batches, so the interpreter cannot run it
    got = simt.execute_lowered(kernel, *case.arguments(), out_idx=-1).outputs[0]
    np.testing.assert_array_equal(got, case.reference(case.arguments()).reshape(case.output[0]))


def test_a_choice_that_data_makes_is_not_counted() -> None:
    _, said = lowered(case_of("two_widths"), "lowered", on_all_reduce(through_a_select))
    assert said[0].startswith("not counted: a choice between contributions by data")

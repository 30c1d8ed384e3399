"""Which events belong together, and which of them precede which."""

from __future__ import annotations

import math

import pytest

from reducer_rules.epochs import apart, covers, is_identity, lifetimes, precedes, repeats
from reducer_rules.monoid import Op
from reducer_rules.timeline import (
    Condition,
    EscapeKind,
    Fill,
    Finalize,
    Init,
    Load,
    LoopKind,
    UpdateForm,
)
from tests.rules.build import Sketch, rfc, v1, v2

COMPILE_TIME, UNIFORM = Condition.COMPILE_TIME, Condition.UNIFORM


def test_an_escape_leaves_no_lifetime_known() -> None:
    sketch = v1()
    sketch.escape(EscapeKind.ARGUMENT, "helper")
    assert lifetimes(sketch.timeline) == ()


def test_a_second_allocation_replaces_the_first() -> None:
    sketch = v1()
    sketch.alloc()
    sketch.init()
    first, second = lifetimes(sketch.timeline)
    assert [event.ident for event in first.events] == [2, 3, 4, 5]
    assert [event.ident for event in second.events] == [6]


def test_an_event_after_two_allocating_arms_belongs_to_both() -> None:
    sketch = Sketch()
    for arm in (0, 1):
        with sketch.branch(COMPILE_TIME, arm, ident=9):
            sketch.alloc()
    sketch.init()
    assert [life.of(Init)[0].ident for life in lifetimes(sketch.timeline)] == [3, 3]


def test_the_rfc_opens_at_the_allocation() -> None:
    (life,) = lifetimes(rfc().timeline)
    assert life.openers == (life.alloc,)
    (life,) = lifetimes(v2().timeline)
    assert life.openers == life.of(Init)


def test_closers_end_with_the_next_opening() -> None:
    sketch = v2()
    sketch.load()
    sketch.init()
    sketch.load()
    (life,) = lifetimes(sketch.timeline)
    before, after = life.of(Load)
    assert [closer.ident for closer in life.closers(before)] == [4]
    assert life.closers(after) == ()


def test_arms_of_one_conditional_are_apart() -> None:
    sketch = Sketch()
    for arm in (0, 1):
        with sketch.branch(UNIFORM, arm, ident=9):
            sketch.init()
    sketch.init()
    left, right, after = sketch.events
    assert not precedes(left, right)
    assert precedes(left, after)
    assert not precedes(after, left)


def test_compile_time_conditions_on_one_text_are_decided_alike() -> None:
    sketch = Sketch()
    for arm in (0, 1):
        with sketch.branch(COMPILE_TIME, arm, "flag"):
            sketch.init()
    for arm in (0, 1):
        with sketch.branch(UNIFORM, arm, "n > 0"):
            sketch.init()
    traced, otherwise, once, again = sketch.events
    assert apart(traced.context, otherwise.context)
    assert not apart(once.context, again.context)


@pytest.mark.parametrize(
    ("condition", "text", "arms", "covered"),
    [
        (UNIFORM, "n > 0", (0, 1), True),
        (UNIFORM, "n > 0", (0,), False),
        (COMPILE_TIME, "flag", (1,), False),
    ],
)
def test_arms_cover_only_together(
    condition: Condition, text: str, arms: tuple[int, ...], covered: bool
) -> None:
    sketch = Sketch()
    for arm in arms:
        with sketch.branch(condition, arm, text, ident=9):
            sketch.finalize()
    sketch.load()
    *finalizes, load = sketch.events
    assert covers(finalizes, load) is covered


@pytest.mark.parametrize(
    ("condition", "text", "covered"),
    [
        (UNIFORM, "n > 0", True),
        (UNIFORM, "B[0] > 0", False),
        (COMPILE_TIME, "config['x']", True),
        (Condition.UNKNOWN, "n", False),
    ],
)
def test_the_same_condition_twice_is_one_where_it_cannot_change(
    condition: Condition, text: str, covered: bool
) -> None:
    sketch = Sketch()
    with sketch.branch(condition, text=text):
        sketch.finalize()
    with sketch.branch(condition, text=text):
        sketch.load()
    assert covers(sketch.timeline.of(Finalize), sketch.events[-1]) is covered


def test_loops_are_taken_to_run() -> None:
    sketch = Sketch()
    with sketch.loop(LoopKind.SERIAL):
        sketch.finalize()
    sketch.load()
    assert covers(sketch.timeline.of(Finalize), sketch.events[-1])


def test_nested_arms_cover_where_every_leaf_does() -> None:
    sketch = Sketch()
    with sketch.branch(UNIFORM, 0, ident=7):
        sketch.finalize()
    with sketch.branch(UNIFORM, 1, ident=7):
        for arm in (0, 1):
            with sketch.branch(UNIFORM, arm, "m > 0", ident=8):
                sketch.finalize()
    sketch.load()
    *finalizes, load = sketch.events
    assert covers(finalizes, load)
    assert not covers(finalizes[:2], load)


def test_only_compile_time_arms_do_not_repeat() -> None:
    for condition, repeated in ((COMPILE_TIME, 0), (UNIFORM, 1), (Condition.UNKNOWN, 1)):
        sketch = Sketch()
        for arm in (0, 1):
            with sketch.branch(condition, arm, ident=9):
                sketch.init()
        assert len(repeats(sketch.timeline.inits)) == repeated, condition


def test_a_third_repetition_is_told_once() -> None:
    sketch = Sketch()
    for _ in range(3):
        sketch.init()
    found = repeats(sketch.timeline.inits)
    assert [(first.ident, again.ident) for first, again in found] == [(1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("op", "dtype", "fill", "expected"),
    [
        (Op.SUM, "float32", None, True),
        (Op.SUM, "float32", Fill("0.0", 0.0), True),
        (Op.SUM, None, Fill("0", 0), True),
        (Op.SUM, "float32", Fill("1", 1), False),
        (Op.SUM, "float32", Fill("x"), None),
        (Op.SUM, "float32", Fill("nan", math.nan), False),
        (Op.MAX, "float32", Fill("-inf", -math.inf), True),
        (Op.MAX, None, Fill("-inf", -math.inf), True),
        (Op.MAX, None, Fill("0", 0), None),
        (Op.MAX, "uint8", Fill("0", 0), True),
        (Op.MAX, "float32", Fill("0", 0), False),
        (Op.MIN, "float16", Fill("inf", math.inf), True),
        (Op.MIN, "float16", Fill("-inf", -math.inf), False),
        (Op.MAX, "int32", Fill("T.min_value('int32')", None, "lowest", "int32"), True),
        (Op.MAX, "int32", Fill("T.min_value('int16')", None, "lowest", "int16"), False),
        (Op.MAX, "float32", Fill("T.min_value('float32')", None, "lowest", "float32"), False),
        (Op.MAX, "float32", Fill("T.min_value(dt)", None, "lowest"), None),
        (Op.MIN, "int8", Fill("T.max_value('int8')", None, "highest", "int8"), True),
        (Op.PROD, "float32", Fill("1", 1), True),
        (Op.BITAND, "uint8", Fill("255", 255), True),
        (Op.BITAND, "int8", Fill("-1", -1), True),
        (Op.BITOR, "int32", Fill("0", 0), True),
        (None, "float32", Fill("0", 0), None),
        (None, "float32", None, True),
    ],
)
def test_the_identity_of_a_fill(
    op: Op | None, dtype: str | None, fill: Fill | None, expected: bool | None
) -> None:
    assert is_identity(op, dtype, fill) is expected


def test_the_rfc_spelling_is_told_by_its_updates() -> None:
    sketch = Sketch()
    sketch.alloc()
    sketch.contribute(form=UpdateForm.SHIPPED)
    (life,) = lifetimes(sketch.timeline)
    assert life.openers == ()

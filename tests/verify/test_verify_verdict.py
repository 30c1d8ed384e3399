"""How what the two sides gave is compared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reducer_migrate.verify.verdict import Side, Verdict, compare
from reducer_migrate.verify.worker import WorkerError

np = pytest.importorskip("numpy", reason="numpy is not installed")


def _side(values: Sequence[float], *faults: str, dtype: str = "float32") -> Side:
    array = np.array(values, dtype=np.int64 if dtype.startswith("int") else np.float64)
    return Side({"positive": {"B": array}}, {"B": dtype}, faults)


FAILED = Side(error=WorkerError("lower", "TileLang does not compile it"))
RIGHT = [36, 10]


def test_all_agree() -> None:
    found = compare(_side(RIGHT), _side(RIGHT), _side(RIGHT))
    assert (found.verdict, found.observed) == (Verdict.RIGHT, "1x")
    assert found.values == {"v1": 36, "v2": 36, "counted": 36}


@pytest.mark.parametrize(
    ("v1", "observed"),
    [
        ([576, 160], "16x"),
        ([36, 20], "1x to 2x"),
        ([0, 0], "0x"),
        ([float("nan"), 10], "not finite"),
        ([float("inf"), 10], "not finite"),
    ],
)
def test_v1_is_wrong_by_a_factor(v1: list[float], observed: str) -> None:
    found = compare(_side(v1), _side(RIGHT), _side(RIGHT))
    assert (found.verdict, found.observed) == (Verdict.V1_WRONG, observed)
    assert found.verdict.mismatch


def test_the_first_element_that_differs_is_shown() -> None:
    found = compare(_side([36, 20]), _side(RIGHT), _side(RIGHT))
    assert str(found.place) == "B[1]"
    assert found.values == {"v1": 20, "v2": 10, "counted": 10}


def test_v2_is_wrong_where_it_is_not_what_the_source_adds_up_to() -> None:
    found = compare(_side([18, 5]), _side([18, 5]), _side(RIGHT))
    assert (found.verdict, found.observed) == (Verdict.V2_WRONG, "0.5x")


def test_a_fault_of_the_interpreter_makes_right_numbers_wrong() -> None:
    race = "shared-race: two threads\n  store one word"
    found = compare(_side(RIGHT), _side(RIGHT, race), _side(RIGHT))
    assert (found.verdict, found.reason) == (
        Verdict.V2_WRONG,
        "v2: shared-race: two threads store one word",
    )
    assert compare(_side(RIGHT, race), _side(RIGHT), _side(RIGHT)).verdict is Verdict.V1_WRONG


def test_without_a_count_the_two_sides_are_all_there_is() -> None:
    uncounted = Side(error=WorkerError("unsupported", "the operation tl.tileop.gemm"))
    assert compare(_side(RIGHT), _side(RIGHT), uncounted).verdict is Verdict.EQUAL
    different = compare(_side([576, 160]), _side(RIGHT), uncounted)
    assert (different.verdict, different.observed) == (Verdict.DIFFERENT, "16x")
    alone = compare(None, _side(RIGHT), uncounted)
    assert (alone.verdict, alone.reason) == (Verdict.NOT_RUN, "nothing to compare v2 with")


def test_a_side_that_fails() -> None:
    found = compare(FAILED, _side(RIGHT), _side(RIGHT))
    assert (found.verdict, found.reason) == (Verdict.RIGHT, "v1: TileLang does not compile it")
    found = compare(_side(RIGHT), FAILED, _side(RIGHT))
    assert (found.verdict, found.reason) == (Verdict.NOT_RUN, "v2: TileLang does not compile it")


@pytest.mark.parametrize(
    ("dtype", "value", "verdict"),
    [
        ("float32", 1000.0001, Verdict.RIGHT),
        ("float32", 1001, Verdict.V1_WRONG),
        ("float16", 1001, Verdict.RIGHT),
        ("float16", 1008, Verdict.V1_WRONG),
        ("bfloat16", 1008, Verdict.RIGHT),
        ("int32", 1001, Verdict.V1_WRONG),
    ],
)
def test_floats_may_differ_by_rounding_alone(dtype: str, value: float, verdict: Verdict) -> None:
    right = _side([1000, 1], dtype=dtype)
    assert compare(_side([value, 1], dtype=dtype), right, right).verdict is verdict


def test_values_that_are_no_numbers_are_equal_to_themselves() -> None:
    odd = [float("nan"), float("inf")]
    assert compare(_side(odd), _side(odd), _side(odd)).verdict is Verdict.RIGHT


def test_a_kernel_that_writes_nothing_is_not_compared() -> None:
    nothing = Side({"positive": {}}, {})
    found = compare(nothing, nothing, nothing)
    assert (found.verdict, found.reason) == (
        Verdict.NOT_RUN,
        "it writes to no tensor: there is nothing to compare",
    )

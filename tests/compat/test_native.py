"""TileLang's own reducers beside ours, where it has them: the same numbers, or a known refusal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reducer_compat
from reducer_compat import simt
from reducer_compat.adapter import adapter
from tests.compat.lowering import run, wanted
from tests.kernels import Case, all_cases
from tests.kernels.tiles import row_sum
from tests.kernels.widths import DTYPES
from tests.releases import kernels

needs_native = pytest.mark.skipif(
    not adapter().native_v2, reason="this TileLang has no v2 reducers"
)
V1 = (r"legacy reducer", "a v1 statement that TileLang's shim does not take")
OPENING = (r"before T\.reducer_init", "the RFC's opening at the allocation")
EPOCHS = (r"exactly one epoch", "several epochs per allocation")
THREADS = (r"is_const_power_of_two_integer", "the participants are no power of two")
LAYOUT = (r"^Layout .* has errors", "the tile does not divide over the threads")
OUTPUTS = (r"^Loop layout is not injective", "the outputs do not divide over the threads")
SLOTS = (r"kMaxWidePlanSlots", "more than 256 partials per thread")
BATCH = (r"finalize_reducer: batch", "a batch that does not divide the outputs of a thread")
WRONG = (r"Not equal to tolerance|Arrays are not equal", "only the first batch is reduced")
PROD = (r"^$", "no product")
PART = (r"must have the same logical shape", "a part of a buffer is taken for the whole")
START = (r"unwritten-", "a part of a buffer is taken to start where the buffer does")
STAGED = (r"\(2 vs\. 1\) : finalize_reducer", "a pipeline makes one reducer for each stage")
TWICE = (r"Multiple writes to overlapping buffer regions", "a turn fills a tile twice")
ROW = (r"must have the same logical shape", "a destination that is a row of a tile")
STAGES = (r"out-of-bounds", "a tile that pipelined loops share has the stages of one of them")
AROUND = (r"out-of-bounds", "a tile of a pipelined loop is used behind it")
RAGGED = (r"race at", "the end of a pipeline of symbolic length has no barrier")
VALUE = (r"Arrays are not equal", "a value of a pipelined loop keeps that of the first turn")
#: What TileLang's own does not take, or does wrong, on 0.1.14 and 0.1.15, and why.
REFUSED = {
    "one_to_eight_v1": V1,
    "one_to_eight_rfc": OPENING,
    "row_sum_8x96_128_global": LAYOUT,
    "row_sum_3x100_128_global": LAYOUT,
    "row_sum_16x48_96_global": THREADS,
    "row_sum_5x7_192_global": THREADS,
    "row_sum_4x24_384_global": THREADS,
    "row_sum_32x128_160_global": THREADS,
    "row_sum_8x96_128_shared": LAYOUT,
    "row_sum_3x100_96_shared": THREADS,
    "row_sum_8x96_128_fragment": LAYOUT,
    "several_reducers": LAYOUT,
    "columns_and_computed_index": THREADS,
    "gemv_8x96_128_2_shared": LAYOUT,
    "sum_8_of_48_on_32": LAYOUT,
    "max_8_of_48_on_32": LAYOUT,
    "min_8_of_48_on_32": LAYOUT,
    "batch_2_global": WRONG,
    "batch_8_fragment": BATCH,
    "batch_3_global": BATCH,
    "batch_3_fragment": BATCH,
    "tile_of_outputs_1": SLOTS,
    "tile_of_outputs_2": SLOTS,
    "many_outputs": SLOTS,
    "opened_twice": EPOCHS,
    "prod_float16": PROD,
    "prod_bfloat16": PROD,
    "prod_float32": PROD,
    "prod_float64": PROD,
    "prod_int32": PROD,
    **{f"product_of_{dtype}": PROD for dtype in DTYPES},
    "prod_float16_16x128_weighted": PROD,
    "prod_bfloat16_16x128_weighted": PROD,
    "sum_float16_8x96": LAYOUT,
    "max_float16_8x96": LAYOUT,
    "value_before_a_copy": VALUE,
    "tile_of_two_tensors": TWICE,
    "arms_over_the_tile": ROW,
    "two_pipelines_of_one_tile_and_other_stages": STAGES,
    "accumulated_then_reduced": AROUND,
    "stored_rows_3": OUTPUTS,
    "stored_rows_6": OUTPUTS,
    "v1_spellings": V1,
    "v1_scaled_result": V1,
    "epoch_with_a_loop_in_a_pipeline": STAGED,
    "epoch_of_copies_in_each_turn_int8": STAGED,
    "epoch_of_copies_in_each_turn_int32": STAGED,
    "part_of_a_tensor": PART,
    "part_of_one_element": PART,
    "part_of_a_tile": PART,
    "part_of_a_fragment": START,
    "part_in_a_pipeline": START,
    "launched_twice": THREADS,
    "symbolic_histogram": THREADS,
    "bench_gemv_shared_16x128_96_float16": THREADS,
    "bench_gemv_shared_8x96_128_bfloat16": LAYOUT,
    "bench_row_sum_global_3x100_96_float32": THREADS,
    "bench_row_max_shared_5x56_160_float16": THREADS,
}
if str(adapter().release) == "0.1.14":
    REFUSED["symbolic_shorter_than_its_stages"] = RAGGED
    REFUSED["symbolic_parallel_columns"] = (r"no available layout found", "a symbolic extent")
CASES = all_cases()


def named(case: Case) -> str:
    return case.name


@pytest.fixture
def native(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("REDUCER_COMPAT", "native")


@needs_native
@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("case", [case for case in CASES if case.name not in REFUSED], ids=named)
def test_native_agrees(case: Case) -> None:
    """`test_kernels` shows the same of ours."""
    np.testing.assert_array_equal(run(case), wanted(case))


@needs_native
@pytest.mark.usefixtures("native")
@pytest.mark.parametrize("case", [case for case in CASES if case.name in REFUSED], ids=named)
def test_native_refuses(case: Case) -> None:
    pattern, _ = REFUSED[case.name]
    with pytest.raises(Exception) as caught:  # noqa: PT011
        np.testing.assert_array_equal(run(case), wanted(case))
    assert re.search(pattern, str(caught.value).strip())


def test_every_refusal_is_of_a_kernel() -> None:
    assert set(REFUSED) <= {case.name for case in CASES}


def chosen(case: Case) -> reducer_compat.Choice:
    """Whose lowering mode auto gives a kernel; its numbers are right."""
    np.testing.assert_array_equal(run(case), wanted(case))
    return reducer_compat.status().choices[-1]


def tile(rows: int, columns: int, threads: int, source: str = "fragment") -> Case:
    return Case(
        f"{rows}x{columns}_{threads}_{source}",
        "",
        lambda: row_sum(rows, columns, threads, source),
        lambda rng: (rng.integers(-4, 5, (rows, columns)).astype("float32"),),
        lambda a: a.sum(axis=1),
        ((rows,), "float32"),
    )


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("size", [(8, 128, 256), (16, 16, 32), (64, 64, 128), (1, 128, 128)])
def test_auto_leaves_plain_tiles_to_tilelang(size: tuple[int, int, int]) -> None:
    assert chosen(tile(*size)).native == adapter().native_v2


@needs_native
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (tile(8, 128, 128, "global"), "an update reads something else than a fragment"),
        (tile(8, 128, 128, "shared"), "an update reads something else than a fragment"),
        (tile(16, 48, 96, "global"), "the threads are no power of two"),
        (tile(16, 48, 128, "shared"), "a loop of updates has an extent that is no power of two"),
        (tile(2, 32, 128), "a loop of updates does not divide over the threads"),
    ],
    ids=lambda value: value.name if isinstance(value, Case) else "",
)
def test_auto_keeps_what_native_does_worse(case: Case, reason: str) -> None:
    choice = chosen(case)
    assert not choice.native
    assert choice.reason.startswith(reason)


@needs_native
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_auto_gives_native_nothing_that_it_refuses(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    assert not chosen(case).native


#: Kernels of which a rule says that native v2 computes something else, the shape of their input of
#: ones, their right numbers, and where they are wrong.
RULED: dict[str, tuple[Callable[[], Any], tuple[int, ...], list[float], str | None]] = {
    "RM308": (lambda: kernels.of_small_tile_v2(128, (4, 8)), (4, 8), [8] * 4, None),
    "RM309": (
        lambda: kernels.beside_pipeline_v2(128, 2, "before"),
        (4, 16, 64),
        [72] * 64,
        "sm_90",
    ),
    "RM310": (
        lambda: kernels.into_part_v2(128, "fragment", 8),
        (16, 8),
        [0] * 8 + [16] * 8 + [0] * 8,
        None,
    ),
    "RM311": (lambda: kernels.epochs_in_pipeline_v2(64, 2), (8, 64), [64] * 8, "sm_90"),
    "RM312": (
        lambda: kernels.two_places_v2(128, 384, "its own"),
        (384, 4),
        [4 + 1536] + [4] * 383,
        None,
    ),
    "RM313": (lambda: kernels.withheld_updates_v2(128, "before"), (4, 128), [1024], "sm_90"),
    "RM314": (
        lambda: kernels.repeated_v2(128, "sum", 128),
        (4, 32),
        [128] * 64 + [0] * 64,
        "sm_90",
    ),
    "RM315": (
        lambda: kernels.small_fragment_beside_memory_v2(128, True, "row"),
        (32,),
        [32] * 128,
        None,
    ),
}


@needs_native
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("code", RULED)
def test_auto_is_right_where_a_rule_says_that_native_is_wrong(code: str) -> None:
    build, shape, right, arch = RULED[code]
    got = simt.run(build(), np.ones(shape, np.float32), target=arch)
    assert got.tolist() == right


@needs_native
def test_only_auto_chooses(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("REDUCER_COMPAT", "canonical")
    ours = chosen(tile(8, 128, 256))
    assert (ours.native, ours.reason) == (False, "the mode is canonical")
    environment.setenv("REDUCER_COMPAT", "native")
    assert chosen(tile(8, 128, 256)) is ours


@pytest.mark.usefixtures("environment")
def test_a_choice_says_why() -> None:
    run(tile(8, 96, 128, "global"))
    said = str(reducer_compat.status().choices[-1])
    assert said.startswith("from_global: canonical, ")

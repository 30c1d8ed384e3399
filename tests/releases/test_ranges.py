"""Each RM3xx range on the code that the releases generate: affected ones err, others do not."""

from __future__ import annotations

import math
import re

import pytest

from reducer_rules.catalogue import rule
from reducer_rules.release import Release, between
from reducer_rules.replication import replicas, threads_per_row
from reducer_rules.rule import ReleaseRule
from tests.releases.cases import (
    KEPT,
    NATIVE_GRID,
    OPENINGS,
    PIPELINES,
    PLACES,
    ROW_TILES,
    SMALL_TILES,
    SUMMED,
    WITHHELD,
)
from tests.releases.conftest import Outcome, Probe

NATIVE = between("0.1.14", "0.1.15")
WIDTH_UNCHECKED = between("0.1.8", "0.1.12")
WIDTH_ERROR = "XOR-butterfly AllReduce requires logical_width"
LAYOUT_ERRORS = ("no available layout found", "does not form a bijective")


def affected(code: str) -> tuple[Release, ...]:
    found = rule(code)
    assert isinstance(found, ReleaseRule)
    return found.affected


def test_rm301_eight_numbers_on_128_threads(probed: Probe) -> None:
    assert probed["sum of 8"].sums_to(576 if probed.within(affected("RM301")) else 36)


def test_rm301_two_sites_each_count_on_their_own(probed: Probe) -> None:
    wrong = 8 * (128 // 8) + 16 * (128 // 16)
    assert probed["two sites"].sums_to(wrong if probed.within(affected("RM301")) else 24)


@pytest.mark.parametrize(
    ("name", "right", "times"),
    [
        ("serial inside", 128, 4),
        ("vectors of a serial loop", 2048, 16),
        ("beside a fragment write", 64, 2),
    ],
)
def test_rm301_other_loops(probed: Probe, name: str, right: float, times: int) -> None:
    assert probed[name].sums_to(right * times if probed.within(affected("RM301")) else right)


@pytest.mark.parametrize("tile", ROW_TILES)
def test_rm301_one_value_for_each_row(probed: Probe, tile: tuple[int, int]) -> None:
    if not probed.within(affected("RM301")):
        return
    rows, columns = tile
    sharing = threads_per_row(128, rows, columns, 32)
    assert sharing is not None
    times = sharing if sharing < 128 else replicas(128, (rows,))
    assert probed["row maxima {}x{}".format(*tile)].sums_to(rows * (times or 0))


def test_rm301_gives_no_factor_where_a_fragment_stands_for_a_row(probed: Probe) -> None:
    if probed.within(affected("RM301")):
        # The loop of 32 alone would be replicated 4 times.
        assert probed["row scales 32x64"].sums_to(32 * 16)
        assert probed["row sums 32x64"].sums_to(32 * 64 * 4)


def test_rm301_max_is_right_everywhere(probed: Probe) -> None:
    assert probed["max of 8"].sums_to(8)


def test_rm301_an_unreplicated_reducer_is_right_everywhere(probed: Probe) -> None:
    assert probed["unreplicated"].sums_to(16)


def test_rm302_a_batch_of_two(probed: Probe) -> None:
    if not probed.within(affected("RM302")):
        assert probed.release < affected("RM302")[0]
        return
    names = ["batch 2", "v2 batch 2"] if probed.within(NATIVE) else ["batch 2"]
    for name in names:
        values = probed[name].values
        assert values[:2] == (128, 128)
        assert 128 not in values[2:]
        assert len(values) == 8


def test_rm302_other_batches(probed: Probe) -> None:
    if not probed.within(affected("RM302")):
        assert "batch 8" not in probed.outcomes
        return
    assert probed["batch 8"].sums_to(128)
    assert probed["batch 2 in a warp"].sums_to(128)
    assert "batch (3) must evenly divide" in probed["batch 3"].error


def assert_complete(pipeline: Outcome) -> None:
    """The sums are right; where the interpreter cannot run the pipeline, nothing is missing."""
    if pipeline.script:
        assert re.search(r"acc\w*\[.*\] = T\.(Broadcast\(T\.)?float32\(0", pipeline.script)
        assert re.search(r"\bB\w*\[.*\] = acc", pipeline.script)
    else:
        assert pipeline.sums_to(512)


def test_rm303_a_warp_specialized_pipeline(probed: Probe) -> None:
    found = probed["pipeline sm_90"]
    if not probed.within(affected("RM303")):
        assert_complete(found)
    else:
        assert "unwritten-read" in found.faults
        assert all(math.isnan(value) for value in found.values)
        lost_result = probed.release > Release.parse("0.1.11")
        assert ("unwritten-output" in found.faults) == lost_result


@pytest.mark.parametrize(
    "name", ["pipeline sm_80", "pipeline of no stage", "pipeline without warp specialization"]
)
def test_rm303_other_pipelines_are_right_everywhere(probed: Probe, name: str) -> None:
    assert_complete(probed[name])


@pytest.mark.parametrize(("name", "right"), [("96 threads", 96), ("24 threads", 24)])
def test_rm304_no_power_of_two(probed: Probe, name: str, right: float) -> None:
    if probed.within(WIDTH_UNCHECKED):
        assert not probed[name].error
        assert not probed[name].sums_to(right)
    else:
        assert WIDTH_ERROR in probed[name].error


def test_rm304_max_loses_contributions_too(probed: Probe) -> None:
    if probed.within(WIDTH_UNCHECKED):
        assert not probed["96 threads, max"].sums_to(96)
    else:
        assert WIDTH_ERROR in probed["96 threads, max"].error


def test_rm304_native(probed: Probe) -> None:
    if probed.within(NATIVE):
        assert WIDTH_ERROR in probed["v2 96 threads"].error
        assert probed["v2 96 threads, a row each"].sums_to(4)


def test_rm306_never_updated(probed: Probe) -> None:
    found = probed["never updated"]
    if probed.within(affected("RM306")):
        assert "bad optional access" in found.error.replace("_", " ")
    else:
        assert found.sums_to(1)
        assert probed["v2 never updated"].sums_to(0)


def test_rm306_updated_by_an_operation_on_the_whole(probed: Probe) -> None:
    found = probed["updated by T.reduce"].error.replace("_", " ")
    assert ("bad optional access" in found) == probed.within(affected("RM306"))


def test_rm306_a_serial_update_compiles(probed: Probe) -> None:
    assert not probed["updated in a serial loop"].error


def test_native_v2_is_right_where_v1_was_wrong(probed: Probe) -> None:
    if probed.within(NATIVE):
        assert probed["v2 sum of 8"].sums_to(36)
        assert probed["v2 batch 8"].sums_to(128)
        assert probed["v2 pipeline sm_90"].sums_to(512)


@pytest.mark.parametrize("tile", ROW_TILES)
@pytest.mark.parametrize("what", ["maxima", "sums"])
def test_rm307_rows_that_several_threads_share(
    probed: Probe, what: str, tile: tuple[int, int]
) -> None:
    if not probed.within(affected("RM307")):
        return
    rows, columns = tile
    sharing = threads_per_row(128, rows, columns, 32)
    assert sharing is not None
    right = rows * (1 if what == "maxima" else columns)
    counted = right * sharing // 128 if 1 < sharing < 128 else right
    assert probed["v2 row {} {}x{}".format(what, *tile)].sums_to(counted)
    if what == "maxima":
        assert probed["row maxima {}x{}".format(*tile)].sums_to(counted)


def test_rm307_of_other_dtypes_and_operations(probed: Probe) -> None:
    if probed.within(affected("RM307")):
        assert threads_per_row(128, 8, 512, 16) == 64
        assert probed["v2 row sums 8x512, float16"].sums_to(8 * 512 / 2)
        assert not probed["v2 max of row maxima"].sums_to(32 * 64)


@pytest.mark.parametrize("way", ["through shared memory", "baseline plan"])
def test_rm307_ways_out(probed: Probe, way: str) -> None:
    if probed.within(affected("RM307")):
        found = next(o for name, o in probed.outcomes.items() if name.endswith(way))
        assert found.sums_to(32)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("tile", SMALL_TILES)
def test_rm308_tiles_that_do_not_fill_the_block(
    probed: Probe, tile: tuple[int, int], kept: str
) -> None:
    if not probed.within(affected("RM308")):
        return
    rows, columns = tile
    right = {"rows": columns, "columns": rows, "": rows * columns}[kept]
    small = rows * columns < 128 and 128 % (rows * columns) == 0 and rows > 1 < columns
    lost = small and kept != "columns"
    assert probed[f"v2 small tile {rows}x{columns} {kept}"].sums_to(1 if lost else right)
    if tile == (4, 8):
        assert probed[f"small tile 4x8 {kept}"].sums_to(1 if lost else right)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("tile", SMALL_TILES)
def test_rm308_tiles_in_a_nest_of_more_axes(
    probed: Probe, tile: tuple[int, int], kept: str
) -> None:
    if not probed.within(affected("RM308")):
        return
    rows, columns = tile
    right = {"rows": columns, "columns": rows, "": rows * columns}[kept]
    small = rows * columns < 128 and 128 % (rows * columns) == 0 and rows > 1 < columns
    lost = small and kept != "columns"
    assert probed[f"v2 part tile {rows}x{columns} {kept}"].sums_to(4 if lost else 4 * right)


@pytest.mark.parametrize("way", ["through shared memory", "baseline plan"])
def test_rm308_ways_out(probed: Probe, way: str) -> None:
    if probed.within(affected("RM308")):
        found = [o for name, o in probed.outcomes.items() if "small" in name and name.endswith(way)]
        assert [outcome.sums_to(8) for outcome in found] == [True]


@pytest.mark.parametrize(("stages", "arch"), PIPELINES)
def test_rm309_updates_beside_a_pipeline(probed: Probe, stages: int, arch: str) -> None:
    if not probed.within(affected("RM309")):
        return
    before = probed[f"v2 before a pipeline of {stages}, {arch}"]
    if arch == "sm_90" and stages > 0:
        assert "unwritten-read" in before.faults
        assert all(64 <= value < 72 for value in before.values)
    else:
        assert before.sums_to(72)
    assert probed[f"v2 after a pipeline of {stages}, {arch}"].sums_to(72)


@pytest.mark.parametrize("scope", ["fragment", "shared"])
def test_rm310_a_result_goes_to_the_beginning(probed: Probe, scope: str) -> None:
    if probed.within(affected("RM310")):
        beginning = (16.0,) * 8 + (0.0,) * 16
        assert probed[f"v2 into a {scope} from 0"].sums_to(*beginning)
        assert probed[f"v2 into a {scope} from 8"].sums_to(*beginning)


def test_rm310_a_part_of_more_axes(probed: Probe) -> None:
    if probed.within(affected("RM310")):
        assert "must have the same logical shape" in probed["v2 into a row"].error


def lost(found: Outcome) -> bool:
    """Whether the sums begin with what registers hold."""
    return "unwritten-read" in found.faults and all(map(math.isnan, found.values))


@pytest.mark.parametrize(("stages", "arch"), PIPELINES)
def test_rm311_epochs_in_a_pipeline(probed: Probe, stages: int, arch: str) -> None:
    specialized = arch == "sm_90" and stages > 0
    found = probed[f"epochs in a pipeline of {stages}, {arch}"]
    if specialized and probed.within(affected("RM311")):
        assert lost(found)
    elif not found.script and not found.error:
        assert found.sums_to(64)
    for opened in OPENINGS if probed.within(NATIVE) else ():
        found = probed[f"v2 epochs in a pipeline of {stages}, {arch}, opened {opened}"]
        assert lost(found) if specialized else found.sums_to(64)


def test_rm311_epochs_around_pipelines_are_right(probed: Probe) -> None:
    if probed.within(NATIVE):
        assert probed["v2 epochs around pipelines"].sums_to(64)


def test_rm311_epochs_behind_a_pipeline(probed: Probe) -> None:
    if probed.within(NATIVE):
        assert lost(probed["v2 epoch behind a pipeline, of memory"])
        assert probed["v2 epoch behind a pipeline, of fragment"].sums_to(16 + 4 * 16)


#: Whose partials every thread has, so that their opening is lost: of memory nests of powers of two,
#: which become one loop, and where the threads of a loop number one reduced axis.
WIDE = {
    "memory": {(tile, kept) for tile in ((32, 16), (128, 4), (16, 64)) for kept in KEPT}
    | {((3, 128), "rows"), ((3, 128), "")},
    "fragment": {
        ((128, 4), "columns"),
        ((128, 4), ""),
        ((3, 128), "rows"),
        ((3, 128), ""),
    },
}


@pytest.mark.parametrize("source", WIDE)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("tile", SUMMED)
def test_rm311_plans(probed: Probe, tile: tuple[int, int], kept: str, source: str) -> None:
    if probed.within(NATIVE):
        rows, columns = tile
        right = {"rows": columns, "columns": rows, "": rows * columns}[kept]
        found = probed[f"v2 sums in a pipeline, {rows}x{columns} {kept} of {source}"]
        assert lost(found) if (tile, kept) in WIDE[source] else found.sums_to(right)


def test_rm312_two_places_in_a_loop_over_fragments(probed: Probe) -> None:
    if probed.within(affected("RM312")):
        right = (32 + 128, 32, 32, 32)
        assert probed["v2 two places of fragments, last the first"].sums_to(*right)
        wrong = probed["v2 two places of fragments, last its own"]
        assert not wrong.error
        assert not wrong.sums_to(*right)


def test_rm312_two_places_of_a_product(probed: Probe) -> None:
    if probed.within(affected("RM312")):
        right = (64 * 64 * 65.0, *[64 * 64.0] * 63)
        assert probed["v2 two places of a product, last the first"].values == right
        wrong = probed["v2 two places of a product, last its own"]
        assert not wrong.error
        assert wrong.values != right


def test_rm312_two_places_of_many_outputs(probed: Probe) -> None:
    if not probed.within(affected("RM312")):
        return
    for last in ("its own", "the first"):
        assert probed[f"v2 two places of 256, last {last}"].sums_to(4 + 1024, *[4] * 255)
    wrong = probed["v2 two places of 384, last its own"]
    assert not wrong.error
    assert not wrong.sums_to(4 + 1536, *[4] * 383)
    assert "384 vs. 256" in probed["v2 two places of 384, last the first"].error


@pytest.mark.parametrize(("stages", "arch"), PIPELINES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", WITHHELD)
def test_rm313_what_producers_keep(
    probed: Probe, what: str, place: str, stages: int, arch: str
) -> None:
    if not probed.within(affected("RM313")):
        return
    found = probed[f"v2 {what} {place} a tile, {stages}, {arch}"]
    if place == "before" and arch == "sm_90" and stages > 0:
        assert lost(found)
    else:
        assert found.sums_to(16 + (what == "seed"))


@pytest.mark.parametrize(("stages", "arch"), PIPELINES)
@pytest.mark.parametrize("place", PLACES)
def test_rm313_updates(probed: Probe, place: str, stages: int, arch: str) -> None:
    if not probed.within(affected("RM313")):
        return
    kept = place == "before" and arch == "sm_90" and stages > 0
    found = probed[f"v2 updates {place} a tile, {stages}, {arch}"]
    assert found.values == (512.0 if kept else 1024.0,)


@pytest.mark.parametrize(("stages", "arch"), PIPELINES)
@pytest.mark.parametrize("outputs", [64, 128])
@pytest.mark.parametrize("op", ["sum", "max"])
def test_rm314_copies_of_a_small_fragment(
    probed: Probe, op: str, outputs: int, stages: int, arch: str
) -> None:
    if not probed.within(affected("RM314")):
        return
    found = probed[f"v2 {op} of a small fragment into {outputs}, {stages}, {arch}"]
    repeated = op == "sum" and outputs == 128 and arch == "sm_90" and stages > 0
    each = {"sum": 4 * 32 * (4 if repeated else 1), "max": 1}[op]
    assert found.values[:64] == (each,) * 64


@pytest.mark.parametrize("use", ["copy", "element", "row"])
def test_rm315_who_has_the_result(probed: Probe, use: str) -> None:
    if not probed.within(affected("RM315")):
        return
    wanted = (32.0,) * 128 if use == "row" else (32.0,) + (0.0,) * 127
    assert probed[f"v2 small fragment without memory, to a {use}"].values == wanted
    beside = probed[f"v2 small fragment beside memory, to a {use}"].values
    assert beside == ((32.0,) * 32 + (0.0,) * 96 if use == "row" else wanted)


def test_rm305_native_tiles_that_fail(probed: Probe) -> None:
    if not probed.within(NATIVE):
        return
    failing = {tile for tile in NATIVE_GRID if probed["v2 {}x{}".format(*tile)].error}
    errors = [probed["v2 {}x{}".format(*tile)].error for tile in failing]
    assert all(any(text in error for text in LAYOUT_ERRORS) for error in errors)
    assert {(8, 96), (16, 48), (3, 100)} <= failing
    assert {(1, 192), (5, 7), (12, 32)}.isdisjoint(failing)


def test_a_copy_that_fails_is_no_fault_of_reducers(probed: Probe) -> None:
    """Up to 0.1.10 a vector of 192 elements is not staged on 128 threads, reducers or not."""
    fails = probed.release <= Release.parse("0.1.10")
    assert ("no available layout" in probed["copy of 192"].error) == fails
    if not probed.within(NATIVE):
        assert ("no available layout" in probed["pipeline 8x192"].error) == fails
        assert probed["8x192 of memory"].sums_to(192)
        assert probed["pipeline 8x96"].sums_to(4 * 96)

"""Which kernels are lowered on a release, by name. Nothing here imports tilelang."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reducer_rules.release import NATIVE_V2, TESTED, Release

OLDEST = TESTED[0]
_BATCH = Release.parse("0.1.10")
_NO_WARP_SPECIALIZATION = {"tl.disable_warp_specialized": True}


@dataclass(frozen=True)
class Case:
    """A kernel of `kernels.py` and its arguments; inputs are ones, or 1, 2, 3 ... by `count`."""

    name: str
    kernel: str
    arguments: tuple[Any, ...]
    count: bool = False
    arch: str = "sm_75"
    config: dict[str, Any] = field(default_factory=dict)
    since: Release = OLDEST


@dataclass(frozen=True)
class Loop:
    """One point of the grid: threads, the extents dealt to them, and a serial loop inside."""

    threads: int
    parallel: tuple[int, ...]
    serial: int = 1
    kernel: str = ""

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.threads} {self.parallel} {self.serial}".strip()

    @property
    def case(self) -> Case:
        if self.serial > 1:
            arguments = (self.threads, self.parallel[0], self.serial)
            return Case(self.name, "serial_inside", arguments)
        return Case(self.name, self.kernel or "one_output", (self.threads, self.parallel))


#: Where the model of `reducer_rules.replication` is compared with what a release generates.
GRID = (
    *(Loop(32, parallel) for parallel in ((1, 3), (4, 8), (8, 96), (5, 7))),
    *(Loop(64, parallel) for parallel in ((1, 7), (4, 8), (1, 96), (3, 64))),
    *(Loop(128, parallel) for parallel in ((1, 3), (5, 7), (1, 100), (1, 192), (2, 256))),
    *(Loop(256, parallel) for parallel in ((1, 96), (2, 128), (3, 100))),
    *(Loop(128, (width,), depth) for width, depth in ((8, 3), (8, 8), (32, 4), (100, 3))),
    Loop(128, (4, 8), kernel="row_sums"),
    Loop(128, (8, 96), kernel="row_sums"),
    Loop(128, (4, 8), kernel="through_fragment"),
    Loop(128, (8, 64), kernel="through_fragment"),
    Loop(128, (4, 8), kernel="nested_parallel"),
)

#: Tiles of row sums on 128 threads, for native v2.
NATIVE_GRID = (
    (1, 192),
    (2, 192),
    (3, 100),
    (3, 256),
    (4, 96),
    (5, 7),
    (8, 24),
    (8, 96),
    (8, 100),
    (8, 192),
    (12, 32),
    (16, 48),
    (32, 7),
)

#: Tiles of fragments on 128 threads, whose rows several threads share or not.
ROW_TILES = ((128, 64), (32, 64), (64, 2), (8, 64), (64, 256), (128, 4), (8, 512))

#: Tiles of fragments on 128 threads, with fewer elements than that or not.
SMALL_TILES = ((4, 8), (2, 2), (16, 4), (1, 8), (8, 1), (4, 32), (4, 12), (8, 64))
#: What the sums of such a tile keep of it.
KEPT = ("rows", "columns", "")

#: Stages and targets of pipelines that have updates beside them.
PIPELINES = ((1, "sm_90"), (2, "sm_90"), (0, "sm_90"), (2, "sm_80"))
#: Where an epoch opens that is whole in a turn of a pipelined loop.
OPENINGS = ("first", "after the copy", "with a seed", "in a loop")

#: Tiles that a pipelined loop sums up, from shared memory and from fragments, on 128 threads.
SUMMED = ((32, 16), (128, 4), (16, 64), (3, 128), (6, 64))
#: What is read from global memory before or behind the first read of a tile, in a pipelined loop.
WITHHELD = ("copy", "seed")
PLACES = ("before", "behind")

_V1 = (
    Case("sum of 8", "one_output", (128, (1, 8)), count=True),
    Case("max of 8", "one_output", (128, (1, 8), "max"), count=True),
    Case("two sites", "two_sites", (128, (8, 16))),
    Case("serial inside", "serial_inside", (128, 32, 4)),
    Case("vectors of a serial loop", "serial_inside", (128, 32, 64)),
    Case("beside a fragment write", "beside_fragment_write", (128, 64)),
    *(Case(f"row maxima {m}x{n}", "of_reduced_fragment", (128, (m, n))) for m, n in ROW_TILES),
    Case("row sums 32x64", "of_row_sums", (128, (32, 64))),
    *(Case(f"small tile 4x8 {kept}", "of_small_tile", (128, (4, 8), kept)) for kept in KEPT),
    Case("row scales 32x64", "of_row_scales", (128, (32, 64))),
    Case("unreplicated", "unreplicated", (128, (8, 16))),
    Case("batch 2", "row_sums", (128, (8, 128), 2), since=_BATCH),
    Case("batch 3", "row_sums", (128, (8, 128), 3), since=_BATCH),
    Case("batch 8", "row_sums", (128, (8, 128), 8), since=_BATCH),
    Case("batch 2 in a warp", "row_sums", (32, (8, 128), 2), since=_BATCH),
    Case("pipeline sm_80", "gemv", (128, (16, 128)), arch="sm_80"),
    Case("pipeline sm_90", "gemv", (128, (16, 128)), arch="sm_90"),
    Case("pipeline of no stage", "gemv", (128, (16, 128), 4, 0), arch="sm_90"),
    Case(
        "pipeline without warp specialization",
        "gemv",
        (128, (16, 128)),
        arch="sm_90",
        config=_NO_WARP_SPECIALIZATION,
    ),
    *(
        Case(
            f"epochs in a pipeline of {stages}, {arch}",
            "epochs_in_pipeline",
            (64, stages),
            arch=arch,
        )
        for stages, arch in PIPELINES
    ),
    Case("copy of 192", "staged", (128, 192)),
    Case("pipeline 8x192", "gemv", (128, (8, 192)), arch="sm_80"),
    Case("pipeline 8x96", "gemv", (128, (8, 96)), arch="sm_80"),
    Case("8x192 of memory", "row_sums", (128, (8, 192))),
    Case("24 threads", "one_output", (24, (1, 24))),
    Case("96 threads", "one_output", (96, (1, 96))),
    Case("96 threads, max", "one_output", (96, (1, 96), "max"), count=True),
    Case("never updated", "nothing_parallel", (128,)),
    Case("updated by T.reduce", "reduced_into", (128,)),
    Case("updated in a serial loop", "serial_update", (128,)),
)

_V2 = (
    Case("v2 sum of 8", "one_output_v2", (128, (1, 8)), count=True, since=NATIVE_V2),
    Case("v2 batch 2", "row_sums_v2", (128, (8, 128), 2), since=NATIVE_V2),
    Case("v2 batch 8", "row_sums_v2", (128, (8, 128), 8), since=NATIVE_V2),
    Case("v2 pipeline sm_90", "gemv_v2", (128, (16, 128)), arch="sm_90", since=NATIVE_V2),
    Case("v2 96 threads", "one_output_v2", (96, (1, 96)), since=NATIVE_V2),
    Case("v2 96 threads, a row each", "row_sums_v2", (96, (96, 4)), since=NATIVE_V2),
    Case("v2 never updated", "nothing_parallel_v2", (128,), since=NATIVE_V2),
    *(
        Case(f"v2 row {what} {m}x{n}", f"of_row_{what}_v2", (128, (m, n)), since=NATIVE_V2)
        for what in ("maxima", "sums")
        for m, n in ROW_TILES
    ),
    Case(
        "v2 row sums 8x512, float16", "of_row_sums_v2", (128, (8, 512), "float16"), since=NATIVE_V2
    ),
    Case("v2 max of row maxima", "of_row_maxima_v2", (128, (32, 64), "max"), True, since=NATIVE_V2),
    Case(
        "v2 row maxima through shared memory",
        "of_row_maxima_v2",
        (128, (32, 64), "sum", True),
        since=NATIVE_V2,
    ),
    Case(
        "v2 row maxima, baseline plan",
        "of_row_maxima_v2",
        (128, (32, 64)),
        config={"tl.reducer_force_baseline": True},
        since=NATIVE_V2,
    ),
    *(
        Case(
            f"v2 small tile {m}x{n} {kept}",
            "of_small_tile_v2",
            (128, (m, n), kept),
            since=NATIVE_V2,
        )
        for m, n in SMALL_TILES
        for kept in KEPT
    ),
    Case(
        "v2 small tile through shared memory",
        "of_small_tile_v2",
        (128, (4, 8), "rows", True),
        since=NATIVE_V2,
    ),
    Case(
        "v2 small tile, baseline plan",
        "of_small_tile_v2",
        (128, (4, 8)),
        config={"tl.reducer_force_baseline": True},
        since=NATIVE_V2,
    ),
    *(
        Case(
            f"v2 {place} a pipeline of {stages}, {arch}",
            "beside_pipeline_v2",
            (128, stages, place),
            arch=arch,
            since=NATIVE_V2,
        )
        for place in ("before", "after")
        for stages, arch in PIPELINES
    ),
    *(
        Case(
            f"v2 into a {scope} from {start}", "into_part_v2", (128, scope, start), since=NATIVE_V2
        )
        for scope in ("fragment", "shared")
        for start in (0, 8)
    ),
    *(
        Case(
            f"v2 two places of {outputs}, last {last}",
            "two_places_v2",
            (128, outputs, last),
            since=NATIVE_V2,
        )
        for outputs in (256, 384)
        for last in ("its own", "the first")
    ),
    *(
        Case(
            f"v2 two places of fragments, last {last}",
            "two_places_of_fragments_v2",
            (128, last),
            since=NATIVE_V2,
        )
        for last in ("its own", "the first")
    ),
    *(
        Case(
            f"v2 two places of a product, last {last}",
            "two_places_of_product_v2",
            (128, last),
            arch="sm_80",
            since=NATIVE_V2,
        )
        for last in ("its own", "the first")
    ),
    *(
        Case(
            f"v2 epoch behind a pipeline, of {source}",
            "epoch_behind_pipeline_v2",
            (128, source),
            arch="sm_90",
            since=NATIVE_V2,
        )
        for source in ("memory", "fragment")
    ),
    *(
        Case(
            f"v2 sums in a pipeline, {m}x{n} {kept} of {source}",
            "sums_in_pipeline_v2",
            (128, (m, n), kept, source),
            arch="sm_90",
            since=NATIVE_V2,
        )
        for m, n in SUMMED
        for kept in KEPT
        for source in ("memory", "fragment")
    ),
    *(
        Case(
            f"v2 {what} {place} a tile, {stages}, {arch}",
            "withheld_v2",
            (96, what, place, stages),
            arch=arch,
            since=NATIVE_V2,
        )
        for what in WITHHELD
        for place in PLACES
        for stages, arch in PIPELINES
    ),
    *(
        Case(
            f"v2 updates {place} a tile, {stages}, {arch}",
            "withheld_updates_v2",
            (128, place, stages),
            arch=arch,
            since=NATIVE_V2,
        )
        for place in PLACES
        for stages, arch in PIPELINES
    ),
    *(
        Case(
            f"v2 {op} of a small fragment into {outputs}, {stages}, {arch}",
            "repeated_v2",
            (128, op, outputs, stages),
            arch=arch,
            since=NATIVE_V2,
        )
        for op in ("sum", "max")
        for outputs in (64, 128)
        for stages, arch in PIPELINES
    ),
    *(
        Case(
            f"v2 small fragment {beside} memory, to a {use}",
            "small_fragment_beside_memory_v2",
            (128, beside == "beside", use),
            since=NATIVE_V2,
        )
        for beside in ("beside", "without")
        for use in ("copy", "element", "row")
    ),
    *(
        Case(
            f"v2 part tile {m}x{n} {kept}",
            "of_part_tile_v2",
            (128, (m, n), kept),
            since=NATIVE_V2,
        )
        for m, n in SMALL_TILES
        for kept in KEPT
    ),
    Case("v2 into a row", "into_row_v2", (128,), since=NATIVE_V2),
    *(
        Case(
            f"v2 epochs in a pipeline of {stages}, {arch}, opened {opened}",
            "epochs_in_pipeline_v2",
            (64, stages, opened),
            arch=arch,
            since=NATIVE_V2,
        )
        for stages, arch in PIPELINES
        for opened in OPENINGS
    ),
    Case(
        "v2 epochs around pipelines",
        "epochs_around_pipelines_v2",
        (64, 2),
        arch="sm_90",
        since=NATIVE_V2,
    ),
    *(
        Case(f"v2 {rows}x{columns}", "row_sums_v2", (128, (rows, columns)), since=NATIVE_V2)
        for rows, columns in NATIVE_GRID
    ),
)


def cases(release: Release) -> Iterator[Case]:
    """Every case that can be written on `release`."""
    for case in (*_V1, *_V2):
        if case.since <= release:
            yield case
    if release < NATIVE_V2:
        yield from (loop.case for loop in GRID)

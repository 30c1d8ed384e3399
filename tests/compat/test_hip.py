"""The acceptance kernels lowered for HIP: run by the interpreter, and read as source.

No GPU here runs them. The interpreter has wavefronts of 64 lanes and TileLang's HIP templates.
All run on the newest release. An older one runs its share: what HIP changes, the wavefront and
the templates, it changes on every release, and what a release changes, CUDA shows.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from reducer_compat.adapter import adapter
from reducer_rules.release import Release
from tests.compat.lowering import body, run, source, wanted
from tests.compat.share import dealt, newest, share
from tests.compat.test_kernels import CASES, ids, supported
from tests.kernels import Case

ARCH, WAVEFRONT = "gfx942", 64

pytestmark = pytest.mark.skipif(
    adapter().release < Release.parse("0.1.10"),
    reason="the wheels of 0.1.8 and 0.1.9 generate no HIP",
)


#: What TileLang does not generate HIP for, with or without reducers: 0.1.10 knows no `T.abs`.
NO_HIP = {"bench_absmax_scale": "0.1.10"}


def generates(case: Case) -> bool:
    return supported(case) and NO_HIP.get(case.name) != str(adapter().release)


RUN = CASES if newest() else share(CASES)


@pytest.mark.parametrize("case", [case for case in RUN if generates(case)], ids=ids)
def test_a_kernel_is_right_on_hip(case: Case) -> None:
    np.testing.assert_array_equal(run(case, target=ARCH), wanted(case))


def cases(*names: str) -> list[Case]:
    found = [case for case in CASES if case.name in names]
    assert len(found) == len(names)
    return found


#: One of every family: a guard alone, replicas, several sites, several reducers, a pipeline, narrow
#: partials, wide ones, chunks of outputs, a thread count that is no multiple of a wavefront.
READ = cases(
    "one_to_eight_v1",
    "beside_a_fragment_write",
    "two_widths",
    "several_reducers",
    "gemv_16x128_128_2_shared",
    "row_sum_8x128_256_shared",
    "row_sum_16x48_96_global",
    "many_outputs",
    "max_bfloat16",
    "bitxor_int32",
)


@cache
def generated(name: str) -> str:
    """The HIP source of a kernel, which is read for several things."""
    (case,) = cases(name)
    return body(source(case.build(), ARCH, "hip"))


COLLECTIVE = re.compile(r"= tl::AllReduce<tl::(\w+), (\d+), (\d+), (\d+)>::run\(([^,;]*)\);")


@pytest.mark.parametrize("case", dealt(READ, hands=3), ids=ids)
def test_the_source_reads_right(case: Case) -> None:
    text = generated(case.name)
    launched = int(re.findall(r"__launch_bounds__\((\d+)", text)[0])
    for functor, width, scale, offset, _ in COLLECTIVE.findall(text):
        assert functor in ("SumOp", "MaxOp", "MinOp", "BitAndOp", "BitOrOp", "BitXorOp")
        assert int(width) in (2, 4, 8, 16, 32, WAVEFRONT)
        assert launched % int(width) == 0
        assert int(scale) in (1, 2, 4, 8, 16)
        assert int(width) % int(scale) == int(offset) == 0
    assert text.count("AllReduce") == len(COLLECTIVE.findall(text))
    for foreign in ("_sync(", "bar.sync", "NamedBarrier", "cuda", "reducer_compat"):
        assert foreign not in text


@pytest.mark.parametrize("case", dealt(READ, hands=3), ids=ids)
def test_collectives_and_barriers_stand_outside_guards(case: Case) -> None:
    text = generated(case.name)
    for line, around in nested(text):
        if "AllReduce" in line or "__syncthreads" in line:
            assert all(head.startswith("for (int ") for head in around), (line, around)


def nested(text: str) -> list[tuple[str, list[str]]]:
    """The lines of a kernel's body, each with the heads of the blocks around it."""
    found: list[tuple[str, list[str]]] = []
    around: list[str] = []
    for line in (raw.strip() for raw in text.splitlines()[1:]):
        if line.startswith("}"):
            around = around[:-1]
        elif line:
            found.append((line, around))
        if line.endswith("{"):
            around = [*around, line]
    return found


@pytest.mark.parametrize("case", dealt(READ[:4]), ids=ids)
def test_the_code_needs_no_wavefront_of_64(case: Case) -> None:
    np.testing.assert_array_equal(run(case, target="gfx1100"), wanted(case))

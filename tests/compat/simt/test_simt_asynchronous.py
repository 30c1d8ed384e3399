"""Copies in flight: cp.async on sm_80, TMA and warp specialization on sm_90."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reducer_compat import simt

from . import kernels as k

A = np.random.default_rng(2).integers(-9, 9, (64, 6 * 64)).astype("float32")
WANT = A.reshape(64, 6, 64).sum(1)


def lowered(target: str) -> simt.Lowered:
    return simt.lower(k.tile_sums(6), target)


def dropped(kernel: simt.Lowered, unwanted: Callable[[str, Any], bool]) -> simt.Lowered:
    """The kernel without the statements whose op `unwanted` names."""
    module = kernel.tir.module
    prefix = module.__name__.rsplit(".", 1)[1]

    def post(node: Any) -> Any:
        if isinstance(node, module.Evaluate) and isinstance(node.value, module.Call):
            if unwanted(kernel.tir.op_name(node.value), node.value):
                return module.Evaluate(0)
        elif isinstance(node, module.AttrStmt) and unwanted(str(node.attr_key), node):
            return node.body.body
        return None

    kinds = [f"{prefix}.Evaluate", f"{prefix}.AttrStmt"]
    device = {
        name: func.with_body(module.stmt_functor.ir_transform(func.body, None, post, kinds))
        for name, func in kernel.device.items()
    }
    return dataclasses.replace(kernel, device=device)


def named(*names: str) -> Callable[[str, Any], bool]:
    return lambda name, node: name in names


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_pipelined_copies(target: str) -> None:
    result = simt.execute_lowered(lowered(target), A)
    assert result.report.ok, result.report
    np.testing.assert_array_equal(result.outputs[0], WANT)


@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
def test_without_block_barriers_there_are_races(target: str) -> None:
    kernel = simt.lower(k.copied(64, 64), target, k.UNSAFE)
    a = np.arange(64 * 64, dtype="float32").reshape(64, 64)
    assert simt.execute_lowered(kernel, a).report.ok
    pipelined = dropped(simt.lower(k.gemv(16, 512), target), named("tvm_storage_sync"))
    halves = (np.ones((16, 512), "float16"), np.ones(512, "float16"))
    found = simt.execute_lowered(pipelined, *halves).report
    assert found.of("race"), found


def test_without_its_waits_cp_async_lands_too_late() -> None:
    waits = named("ptx_wait_group", "async_wait_queue_scope")
    found = simt.execute_lowered(dropped(lowered("sm_80"), waits), A).report
    assert found.of("unwritten-read")[0].thread == (0, 0, 0)


def test_without_their_waits_consumers_race_with_tma() -> None:
    waits = named("tl.mbarrier_wait_parity", "ptx_wait_barrier")
    found = simt.execute_lowered(dropped(lowered("sm_90"), waits), A).report
    assert any("asynchronous copy" in f.message for f in found.of("race")), found


def test_without_arrivals_waits_never_end() -> None:
    arrivals = named("ptx_arrive_barrier", "ptx_arrive_barrier_expect_tx")
    found = simt.execute_lowered(dropped(lowered("sm_90"), arrivals), A).report
    stuck = found.of("divergent-barrier")[0]
    assert stuck.message.startswith("waits for mbarrier ")
    assert "which still expects" in stuck.message
    assert "mbarrier_wait_parity(" in stuck.statement


def test_without_expected_bytes_the_accounts_do_not_close() -> None:
    expectations = named("tl.mbarrier_expect_tx", "ptx_arrive_barrier_expect_tx")
    found = simt.execute_lowered(dropped(lowered("sm_90"), expectations), A).report
    assert "bytes" in found.of("divergent-barrier")[0].message

"""Ops on values that exist only as text in generated code: hints, and those without an effect here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..program import Value
from .registry import Extern, extern, op

if TYPE_CHECKING:
    from ..compile import Compiler

_NO_EFFECT = (
    "tl.set_max_nreg", "tl.no_set_max_nreg", "tl.annotate_producer_reg_dealloc", "tl.annotate_consumer_reg_alloc",
    "tl.prefetch_tma_descriptor", "tl.ptx_fence_barrier_init", "tl.fence_proxy_async", "tl.pdl_trigger",
    "tl.pdl_sync", "tl.tma_store_arrive", "create_barriers", "tl.create_list_of_mbarrier", "tl.warpgroup_fence_operand",
    "tl.device_assert", "tl.device_assert_with_msg",
)  # fmt: skip


@op(*_NO_EFFECT)
def _hint(c: Compiler, node: Any) -> Value:
    return lambda w: None


@extern("tl::prefetch_tma_descriptor", "tl::pdl_trigger", "tl::pdl_sync", "tl::fence_proxy_async", "__threadfence", "__threadfence_block")
def _hint_extern(c: Compiler, call: Extern) -> Value:
    return lambda w: None

"""Hints to the hardware or the compiler, and ops whose effect is complete when they are issued."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..program import Value
from .registry import Extern, extern, op

if TYPE_CHECKING:
    from ..compile import Compiler

_NO_EFFECT = (
    "tl.set_max_nreg", "tl.no_set_max_nreg", "tl.annotate_producer_reg_dealloc",
    "tl.annotate_consumer_reg_alloc", "tl.prefetch_tma_descriptor", "tl.ptx_fence_barrier_init",
    "tl.fence_proxy_async", "tl.pdl_trigger", "tl.pdl_sync", "tl.tma_store_arrive",
    "create_barriers", "tl.create_list_of_mbarrier",
)  # fmt: skip
_NO_EFFECT_EXTERNS = (
    "tl::prefetch_tma_descriptor", "tl::pdl_trigger", "tl::pdl_sync", "tl::fence_proxy_async",
    "__threadfence", "__threadfence_block",
)  # fmt: skip


@op(*_NO_EFFECT)
def _hint(c: Compiler, node: Any) -> Value:
    return lambda w: None


@extern(*_NO_EFFECT_EXTERNS)
def _hint_extern(c: Compiler, call: Extern) -> Value:
    return lambda w: None

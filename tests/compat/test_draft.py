"""What passes hand on to each other instead of functions (`reducer_compat.draft`)."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import tilelang

from reducer_compat import tree
from reducer_compat.adapter import Adapter, adapter
from reducer_compat.draft import draft, statements
from reducer_compat.passes.launches import each
from tests.kernels.tiles import row_sum


def _function() -> Any:
    tir = adapter().tir
    body = tir.SeqStmt([tir.Evaluate(tir.IntImm("int32", n)) for n in (1, 2)])
    return tir.PrimFunc([], body).with_attr("global_symbol", "kernel").with_attr("mine", 3)


def _values(func: Any) -> list[int]:
    kind = adapter().tir.Evaluate
    return [int(stmt.value.value) for stmt in statements(func) if isinstance(stmt, kind)]


def test_an_unchanged_draft_is_its_function() -> None:
    func = _function()
    assert draft(func).function() is func


def test_changes_reach_the_function_and_leave_the_first_one_alone() -> None:
    func = _function()
    tir = adapter().tir
    changed = draft(func).with_body(tir.Evaluate(tir.IntImm("int32", 7)))
    made = changed.with_attr("ours", 5).with_attr("mine", 4).function()
    assert _values(made) == [7]
    assert {str(k): v for k, v in made.attrs.items()} == {
        "global_symbol": "kernel",
        "mine": 4,
        "ours": 5,
    }
    assert _values(func) == [1, 2]
    assert "ours" not in func.attrs


def test_an_attribute_that_is_taken_away_is_gone() -> None:
    made = draft(_function()).without_attr("mine").function()
    assert sorted(map(str, made.attrs.keys())) == ["global_symbol"]


def test_statements_are_those_of_the_body_by_now() -> None:
    first = draft(_function())
    assert _values(first) == [1, 2]
    marked = first.with_attr("ours", 1)
    assert marked.statements is first.statements
    shorter = marked.with_body(tree.items(first.body.seq)[0])
    assert _values(shorter) == [1]


def test_each_gives_drafts_and_makes_a_function() -> None:
    tir = adapter().tir
    made = each(_function(), lambda d: d.with_body(tir.Evaluate(tir.IntImm("int32", 9))))
    assert isinstance(made, tir.PrimFunc)
    assert _values(made) == [9]


def test_one_function_is_made_for_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """TVM's way to make one looks through a whole kernel: that was a tenth of what our passes
    take."""
    primitive = adapter().tir.PrimFunc
    by_tvm, plain, made = primitive.with_body, Adapter.with_body, []

    def looked_through(self: Any, *args: Any, **kwargs: Any) -> Any:
        assert not str(sys._getframe(1).f_globals["__name__"]).startswith("reducer_compat.")
        return by_tvm(self, *args, **kwargs)

    def counted(self: Any, func: Any, body: Any) -> Any:
        made.append(func)
        return plain(self, func, body)

    kernel = row_sum(32, 64, 128, "fragment")
    target = adapter().target("cuda", "sm_80")
    monkeypatch.setattr(primitive, "with_body", looked_through)
    monkeypatch.setattr(Adapter, "with_body", counted)
    with target:
        tilelang.lower(kernel, target=target)
    assert len(made) == 3  # before TileLang, after layout inference, and after `LowerTileOp`


def test_a_function_is_what_tvm_makes_of_its_body() -> None:
    """As pure, too: of kernels that write memory before and after, none is."""
    here = adapter()
    kernel = row_sum(32, 64, 128, "fragment")
    body = here.tir.AttrStmt(here.tir.IntImm("int32", 0), "mine", here.tir.const(1), kernel.body)
    ours, theirs = here.with_body(kernel, body), kernel.with_body(body)
    here.tvm.ir.assert_structural_equal(ours, theirs)
    assert ours.body.same_as(body)
    assert bool(ours.struct_info_.purity) == bool(theirs.struct_info_.purity)

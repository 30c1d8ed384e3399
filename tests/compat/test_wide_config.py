"""TileLang's pass config for the wide plan: known on every release, and obeyed by ours."""

from __future__ import annotations

import pytest
import tilelang
from tilelang import tvm

import reducer_compat
from reducer_compat.adapter import adapter
from tests.compat.lowering import body, source
from tests.compat.test_install import row_sum

KEY = tilelang.PassConfigKey.TL_REDUCER_FORCE_BASELINE


def under(forced: bool) -> str:
    with tvm.transform.PassContext(opt_level=3, config={KEY: forced}):
        return body(source(row_sum()))


def test_the_config_is_the_wide_plan(environment: pytest.MonkeyPatch) -> None:
    wide = under(forced=True)
    assert wide != body(source(row_sum()))
    environment.setenv("REDUCER_COMPAT_PLAN", "wide")
    assert wide == body(source(row_sum()))


def test_the_config_can_be_off() -> None:
    assert under(forced=False) == body(source(row_sum()))


def test_a_config_that_nobody_knows_is_still_refused() -> None:
    with pytest.raises(Exception, match=r"tl\.reducer_force_baseline_2"):
        tvm.transform.PassContext(config={"tl.reducer_force_baseline_2": True})


def test_uninstalled_it_is_tilelangs_own_business() -> None:
    reducer_compat.uninstall()
    try:
        known = hasattr(tilelang.PassConfigKey, "TL_REDUCER_FORCE_BASELINE")
    finally:
        reducer_compat.install()
    assert known == adapter().native_v2

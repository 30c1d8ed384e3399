"""Why a reducer keeps a partial of every output in every thread, in words."""

from __future__ import annotations

from typing import Any

from reducer_compat import baseline, ladder, monoids, tree
from reducer_compat.ladder import Feature
from reducer_compat.modes import PLAN_VARIABLE, plans_wide
from reducer_compat.passes.collect import Reducer, parallel_nest
from reducer_compat.passes.sites import Site, rows_of


def asked_for() -> str:
    """Who asked for the wide plan; empty where nobody did.

    Raises:
        ReducerError: the environment asks for an unknown one.
    """
    if plans_wide():
        return f"{PLAN_VARIABLE} is wide"
    if baseline.forced():
        return f"the pass config {baseline.KEY} asks for it"
    return "the count of a narrower plan failed" if ladder.gave_up(Feature.NARROW) else ""


def no_rows(reducer: Reducer, sites: tuple[Site, ...]) -> str:
    """What keeps the updates of a reducer from going by rows; empty where each of them could."""
    mine = [
        (site, update)
        for site in sites
        for update in site.updates
        if update.target.data.same_as(reducer.buffer.data)
    ]
    if not mine:
        return "it has no update in a T.Parallel loop"
    return next(
        (_no_row(site, update) for site, update in mine if rows_of(reducer, site, update) is None),
        "",
    )


def _no_row(site: Site, update: Any) -> str:
    place = update.text(3)
    if site.needs_layout and not site.layout_is_open:
        return f"the update at {place} reads or stands beside fragments with layouts of their own"
    nest, _ = parallel_nest(site.loop)
    if any(tree.constant(loop.extent) is None for loop in nest):
        return f"a loop around the update at {place} has an extent that is known at launch only"
    return f"the update at {place} visits its outputs by something else than the loops around it"


def not_open(reducer: Reducer, threads: int, lanes: int, outputs: int, chunk: int) -> str:
    """What keeps the layouts of a reducer's loops from narrowing it once they are known."""
    if outputs == 1:
        return "there is one output, to which all threads contribute"
    if monoids.functor(reducer.op, reducer.dtype) is None:
        return f"lanes do not exchange a {reducer.op} of {reducer.dtype}"
    if lanes == 1:
        return f"{threads} threads are no whole warps"
    if chunk < outputs:
        return f"{outputs} outputs do not fit into one exchange"
    return "not all of its updates wait for a layout of TileLang"

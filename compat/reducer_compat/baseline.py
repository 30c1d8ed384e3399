"""TileLang's pass config for the wide plan, on releases that do not have it.

From 0.1.14 on ``tilelang.PassConfigKey.TL_REDUCER_FORCE_BASELINE`` asks for one partial per
participant and output. Here it means the same on every release: a source that names it
compiles everywhere, and our lowering obeys it.

TVM refuses a config that no C++ code registered. Where this one is unknown it is taken out of
the configs of a `PassContext`, and travels as an instrument of that context, which has the
same scope and the same thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reducer_compat.adapter import adapter

KEY = "tl.reducer_force_baseline"
NAME = "TL_REDUCER_FORCE_BASELINE"
#: TVM names an instrument after its class.
_INSTRUMENT = "ReducerCompatWidePlan"

Replace = Callable[[Any, str, Any], None]


def patch(replace: Replace) -> None:
    """Make the key known where TileLang does not know it."""
    from tilelang.transform.pass_config import PassConfigKey

    if hasattr(PassConfigKey, NAME):
        return
    context = adapter().tvm.transform.PassContext
    replace(PassConfigKey, NAME, KEY)
    replace(context, "__init__", _without_key(context.__init__))


def forced() -> bool:
    """Whether the current `PassContext` asks for the wide plan."""
    context = adapter().tvm.transform.PassContext.current()
    if KEY in context.config:
        return bool(context.config[KEY])
    return any(str(one.name) == _INSTRUMENT for one in context.instruments or ())


def _without_key(original: Callable[..., None]) -> Callable[..., None]:
    def call(
        self: Any,
        opt_level: int = 2,
        required_pass: Any = None,
        disabled_pass: Any = None,
        instruments: Any = None,
        config: Any = None,
    ) -> None:
        if config and KEY in config:
            config = dict(config)
            if config.pop(KEY):
                instruments = [*(instruments or ()), _instrument()]
        original(self, opt_level, required_pass, disabled_pass, instruments, config)

    return call


def _instrument() -> Any:
    """An instrument that does nothing but be there."""
    base = adapter().tvm.ir.instrument.PassInstrument
    return type(_INSTRUMENT, (base,), {})()

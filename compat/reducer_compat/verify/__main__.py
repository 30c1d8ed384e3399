"""`python -m reducer_compat.verify`: the loop over requests. Only answers go to stdout."""

from __future__ import annotations

import json
import os
import sys
import warnings
from types import ModuleType
from typing import Any, TextIO

import numpy as np

from reducer_compat import Mode, status
from reducer_compat.modes import mode

from .building import build
from .counting import count
from .inputs import parameters, symbols
from .loading import execute
from .protocol import Request, Trouble, short
from .running import Ran, interpret, on_gpu


def main() -> None:
    """Answer requests until stdin ends."""
    # Whatever the file prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    module: ModuleType | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if module is None:
                module = execute(request["path"], request["code"])
                _answer(answers, _state())
            else:
                answer = verify(module, Request(**request))
                _answer(answers, answer)
                if answer["last"]:
                    break
        except Trouble as error:
            _answer(answers, _error(error.kind, str(error)))
        except Exception as error:
            _answer(answers, _error("run", short(error)))


def _state() -> dict[str, Any]:
    from importlib.metadata import version

    import tilelang

    try:
        release = str(tilelang.__version__)
    except AttributeError:
        release = version("tilelang")
    active = mode() is not Mode.OFF and status().installed
    return {"release": release, "reducer_compat": active}


def _answer(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def verify(module: ModuleType, request: Request) -> dict[str, Any]:
    """Build one kernel, run it, count what its source adds up to, and say what came out.

    Raises:
        Trouble: there is no kernel, or its parameters cannot be given values.
    """
    built = build(module, request.kernel, request.arguments)
    found = parameters(built.prim_func, request.sizes)
    sides: dict[str, Ran] = {}
    answer: dict[str, Any] = {
        "inputs": [str(parameter) for parameter in found if not parameter.output],
        "dtypes": {parameter.name: parameter.dtype for parameter in found if parameter.written},
        "sizes": symbols(built.prim_func, request.sizes),
        "last": False,
    }
    for side, how in (("run", on_gpu if request.gpu else interpret), ("counted", count)):
        try:
            sides[side] = ran = how(built, found, request)
            answer[side] = {"faults": list(ran.faults), "contributions": ran.contributions}
        except Trouble as error:
            if error.kind == "gpu":
                raise
            answer[side] = _error(error.kind, str(error))
            answer["last"] |= error.kind == "device"
        except Exception as error:
            answer[side] = _error("run", short(error))
    _save(request.into, sides)
    return answer


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"kind": kind, "message": message}}


def _save(into: str, sides: dict[str, Ran]) -> None:
    arrays = {
        f"{variant}/{side}/{name}": array
        for side, ran in sides.items()
        for variant, outputs in ran.outputs.items()
        for name, array in outputs.items()
    }
    np.savez(into, **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()

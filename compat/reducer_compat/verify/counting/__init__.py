"""What a kernel's source adds up to: the program as written, each contribution once.

Runs the program that TileLang traced, before any pass has seen it. A block is one thread of
control here: `T.Parallel` is a loop whose iterations follow one another, a fragment is an array,
a reducer is one accumulator for each output, and finalize has nothing left to combine. There are
no layouts, no replicas, no partials and no collectives, so nothing that TileLang's lowering or
`reducer_compat`'s may get wrong is in it. numpy runs iterations and blocks together where they do
not depend on each other.

Statements that mention a thread index are run once for each thread. What has no meaning without
threads (shuffles, per-thread storage) and what is not known here is refused by name: then nothing
is counted, and nothing is claimed.
"""

from __future__ import annotations

import numpy as np

from ..building import Built
from ..inputs import VARIANTS, Parameter
from ..protocol import Request, Trouble
from ..running import Ran, arguments, written
from .lanes import Uncountable
from .program import Program


def count(built: Built, parameters: tuple[Parameter, ...], request: Request) -> Ran:
    """Run a kernel as its source reads, on every variant of its inputs.

    Raises:
        Trouble: it does something that is not known here, or indexes outside an array.
    """
    outputs = {}
    program = Program(built.prim_func)
    try:
        for variant in VARIANTS:
            given = arguments(parameters, request, variant)
            with np.errstate(all="ignore"):
                program.run(given)
            outputs[variant] = written(parameters, given)
    except Uncountable as error:
        raise Trouble("unsupported", str(error)) from error
    return Ran(outputs, contributions=program.contributions)

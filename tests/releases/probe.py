"""Lower and interpret every case on the TileLang that is importable; one JSON line a case.

    PYTHONPATH=DIR/0.1.13:.:rules:compat python -m tests.releases.probe

A line holds the case's name, and either the `error` of lowering or the `values` of the output
and the kinds of `faults` that the interpreter found; or the `script` of what it does not know.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import tilelang

from reducer_compat import simt
from reducer_rules.release import Release
from tests.releases import kernels
from tests.releases.cases import Case, cases


def inputs(kernel: Any, count: bool) -> list[Any]:
    """Arrays for every parameter but the last, which is the output."""
    buffers = [kernel.buffer_map[param] for param in kernel.params]
    made = []
    for buffer in buffers[:-1]:
        shape = tuple(int(extent) for extent in buffer.shape)
        size = int(np.prod(shape))
        values = np.arange(1, size + 1) if count else np.ones(size)
        made.append(values.reshape(shape).astype(str(buffer.dtype)))
    return made


def outcome(case: Case) -> dict[str, Any]:
    """What became of one case."""
    try:
        kernel = getattr(kernels, case.kernel)(*case.arguments)
        lowered = simt.lower(kernel, case.arch, case.config)
    except Exception as error:
        # Whatever TileLang raises is the observation.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return {"name": case.name, "error": f"{type(error).__name__}: {' | '.join(lines)}"}
    try:
        result = simt.execute_lowered(lowered, *inputs(kernel, case.count))
    except simt.UnsupportedError:
        return {"name": case.name, "script": "\n".join(map(str, lowered.device.values()))}
    values = [float(value) for value in result.outputs[0].reshape(-1)]
    faults = sorted({fault.kind for fault in result.report.faults})
    return {"name": case.name, "values": values, "faults": faults}


def main() -> None:
    """Print one line for each case of the imported release."""
    release = Release.parse(tilelang.__version__)
    for case in cases(release):
        print(json.dumps(outcome(case)), flush=True)
    print(json.dumps({"name": "release", "values": str(release)}))


if __name__ == "__main__":
    sys.exit(main())

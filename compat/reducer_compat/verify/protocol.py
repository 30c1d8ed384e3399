"""What the command and its workers say to each other: one JSON object a line.

The first request loads a file:

    {"path": FILE, "code": the file to execute in its place}

and is answered `{"release": "0.1.13", "reducer_compat": true}`. Each other one runs a kernel:

    {"kernel": NAME, "arguments": {NAME: VALUE}, "sizes": {NAME: int}, "seed": int,
     "arch": "sm_75", "gpu": bool, "into": FILE.npz}

and is answered

    {"inputs": ["A[8] float32"], "dtypes": {OUTPUT: DTYPE}, "sizes": {NAME: int},
     "run": {"faults": [TEXT]}, "counted": {"contributions": int}, "last": bool}

The archive at `into` holds the outputs of every variant as `VARIANT/SIDE/NAME`, with SIDE `run`
or `counted`. Whatever goes wrong is answered `{"error": {"kind": KIND, "message": TEXT}}`, in the
place of a side or of the whole answer; the worker goes on. After a `last` answer it ends: a
fault of that kernel took the GPU from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Values that JSON has no word for: `{"$dtype": "float16"}`, `{"$language": true}`.
DTYPE, LANGUAGE = "$dtype", "$language"


class Trouble(Exception):  # noqa: N818 -- an answer, not a defect
    """Something that keeps a kernel from being verified.

    `kind` is one of `environment` (TileLang does not load), `load` (the file cannot be executed),
    `missing` (an argument is not known),
    `build` (the function gives no kernel), `arguments` (shapes or arguments do not fit),
    `unsupported` (an operation that the interpreter does not know), `lower` (TileLang does not
    compile it), `gpu` (no GPU), `device` (a fault took the GPU from this process) and `run`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Request:
    """One kernel to run, as described above."""

    kernel: str
    arguments: dict[str, Any]
    sizes: dict[str, int]
    seed: int
    arch: str
    gpu: bool
    into: str


def short(error: BaseException, lines: int = 4) -> str:
    """The message of an exception, without the C++ traceback that TVM puts around it."""
    text = [line.rstrip() for line in str(error).strip().split("\n")]
    kept = [line for line in text if line and not _is_traceback(line)]
    said = "\n".join(kept[-lines:] if _is_traceback(text[0]) else kept[:lines])
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _is_traceback(line: str) -> bool:
    return line.lstrip().startswith(("Traceback", "File ", "[bt]", "Stack trace"))

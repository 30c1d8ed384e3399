"""Why TileLang cannot be imported, from what is installed and from the error.

TileLang carries its own TVM and needs one version of apache-tvm-ffi. PyPI's apache-tvm pulls a
newer one; then TileLang ends in an undefined symbol (0.1.15 with apache-tvm 0.27), in a class
that is registered twice (0.1.15 with apache-tvm-ffi 0.1.15), or in a `__dict__` that is not
writable (0.1.8 with apache-tvm-ffi 0.1.12). The packages installed tell more than such errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata

from reducer_rules.release import TESTED, TVM_FFI


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong, and what mends it."""

    cause: str
    remedy: str


def tested_range() -> str:
    return f"{TESTED[0]} to {TESTED[-1]}"


def diagnose(error: BaseException) -> Diagnosis:
    """What the failed import of TileLang says to a user.

    `error` is what the import raised; its last line becomes part of the cause.
    """
    text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    if isinstance(error, ModuleNotFoundError) and error.name == "tilelang":
        return Diagnosis("it is not installed", f"install tilelang ({tested_range()} were tested)")
    release, ffi, tvm = map(_installed, ("tilelang", "apache-tvm-ffi", "apache-tvm"))
    wanted = TVM_FFI.get(release.split("+")[0])
    if tvm:
        return Diagnosis(
            f"apache-tvm {tvm} is installed beside it, and replaces the apache-tvm-ffi that "
            f"TileLang needs ({text})",
            f"uninstall apache-tvm and {_reinstall(wanted)}",
        )
    if wanted and ffi and ffi != wanted:
        return Diagnosis(
            f"TileLang {release} was tested with apache-tvm-ffi {wanted}, this is {ffi} ({text})",
            _reinstall(wanted),
        )
    if "undefined symbol" in text:
        return Diagnosis(
            f"its libraries do not fit the TVM that was loaded ({text})",
            f"uninstall any other TVM and {_reinstall(wanted)}",
        )
    if "libz3" in text:
        return Diagnosis(text, "put the lib directory of z3-solver on LD_LIBRARY_PATH")
    return Diagnosis(text, f"reinstall tilelang ({tested_range()} were tested)")


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _reinstall(ffi: str | None) -> str:
    return f"install apache-tvm-ffi=={ffi}" if ffi else "reinstall tilelang"

"""TileLang releases side by side: one directory each, put in front of an environment.

The directory holds TileLang and the tvm-ffi that it loads with, and nothing else; torch, numpy
and the rest come from the environment that runs this. Where that has not all of it, directories
beside the releases may: `common` what every release imports, `common-0.1.12` the apache-tvm-ffi
0.1.12 for those that load with it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from reducer_rules.release import TVM_FFI

#: Names the directory of side-by-side installs.
VARIABLE = "REDUCER_RELEASES"

#: What `import tilelang` sets, 0.1.8 to 0.1.15, and what it puts on PYTHONPATH.
_LEFT_BEHIND = frozenset(
    {"TVM_LIBRARY_PATH", "TL_COMPOSABLE_KERNEL_PATH", "TL_CUTLASS_PATH", "TL_TEMPLATE_PATH"}
)
_TVM = os.path.join("3rdparty", "tvm", "python")


class InstallError(Exception):
    """A release could not be installed; the message says what was tried and how to go on."""


def directory() -> Path:
    """Where releases lie: `REDUCER_RELEASES`, else below the user's cache directory."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "reducer-migrate", "releases")


def installed_in(into: Path, release: str) -> Path | None:
    """The directory of a release, or None where it is not installed there."""
    place = into / release
    return place if (place / "tilelang").is_dir() else None


def install(release: str, into: Path) -> Path:
    """Install a release into its directory, with pip, and give that directory.

    An install that fails or is interrupted leaves nothing behind.

    Raises:
        InstallError: pip is missing or fails.
    """
    place, unfinished = into / release, into / f"{release}.{os.getpid()}.unfinished"
    try:
        into.mkdir(parents=True, exist_ok=True)
        _pip(release, unfinished)
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    except OSError as error:
        raise InstallError(f"cannot write to {into}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return place


def requirements(release: str) -> list[str]:
    """What pip is asked for."""
    return [f"tilelang=={release}", f"apache-tvm-ffi=={TVM_FFI[release]}"]


def _pip(release: str, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
    done = subprocess.run(
        [*command, *requirements(release)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise InstallError(
            f"pip could not install {' '.join(requirements(release))}: "
            f"{said[-1] if said else f'exit code {done.returncode}'}"
        )


def beside(place: Path) -> list[Path]:
    """The directories that a release shares with others, in the order of importing."""
    named = [f"common-{TVM_FFI[place.name]}"] if place.name in TVM_FFI else []
    return [each for name in (*named, "common") if (each := place.parent / name).is_dir()]


def environment(place: Path | None, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that imports TileLang from `place` (None: its own).

    The release comes before what it shares: `common` may hold another tvm-ffi.

    Importing TileLang leaves the places of its own libraries in the environment, where another
    release would find them: they are taken out.
    """
    given = os.environ if base is None else base
    found = {name: value for name, value in given.items() if name not in _LEFT_BEHIND}
    held = found.get("PYTHONPATH", "").split(os.pathsep)
    ahead = [place, *beside(place)] if place else []
    paths = [*map(str, ahead), *(p for p in held if not p.endswith(_TVM))]
    found["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # Apart from z3-solver, a wheel does not find that package's library by itself.
    shared = [str(path / "z3" / "lib") for path in ahead if (path / "z3" / "lib").is_dir()]
    libraries = [*shared, *_z3_libraries(), found.get("LD_LIBRARY_PATH")]
    found["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    return found


def _z3_libraries() -> list[str]:
    spec = importlib.util.find_spec("z3")
    roots = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    return [os.path.join(root, "lib") for root in roots]

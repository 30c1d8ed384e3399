"""Execute a user's file, or what the codemod made of it, as a module."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from reducer_compat.broken import diagnose

from .protocol import Trouble, short


class Uncompiled:
    """What compiling gives in a worker: the kernel, and how it was to be compiled."""

    def __init__(self, prim_func: Any, pass_configs: Any) -> None:
        self.prim_func = prim_func
        self.pass_configs = pass_configs

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise NotLaunchedError("verify runs the kernels itself, and launches none for the file")


class NotLaunchedError(RuntimeError):
    """The file calls a kernel."""


def _load_tilelang() -> None:
    """Import TileLang, whose errors name neither it nor the package that is at fault."""
    try:
        import tilelang.jit
        import tilelang.language  # noqa: F401
    except Exception as error:
        found = diagnose(error)
        remedy = found.remedy
        if isinstance(error, ModuleNotFoundError) and error.name != "tilelang":
            remedy = "`pip install 'reducer-migrate[compat]'` brings what it needs"
        raise Trouble("environment", f"TileLang does not load: {found.cause}: {remedy}") from error


#: Every kernel that was to be compiled, in order.
COMPILED: list[Uncompiled] = []


def execute(path: str, code: str) -> ModuleType:
    """The module that the file `code` is, executed as if it were the file `path`.

    Its name is not `__main__`. Imports work as in a run from the project: siblings of the file,
    the packages around it, and what lies in the working directory. The text has to be in a file,
    because TileLang reads the source of kernels.

    Raises:
        Trouble: executing it raised (the message names the line), or TileLang itself does not load.
    """
    _load_tilelang()
    file = Path(path).resolve()
    root, package = _package(file)
    sys.path[:0] = list(dict.fromkeys([str(file.parent), str(root), str(Path.cwd())]))
    _record_compilations()
    name = f"{package}.{file.stem}" if package else file.stem
    module = ModuleType(name)
    module.__file__ = str(file)
    module.__package__ = package
    sys.modules[name] = module
    try:
        # The file's own `from __future__` counts, not that of this module.
        compiled = compile(Path(code).read_bytes(), code, "exec", dont_inherit=True)
        exec(compiled, module.__dict__)
    except Exception as error:
        raise Trouble("load", f"{path}{_line(error, code)}: {short(error)}") from error
    except SystemExit as error:
        raise Trouble("load", f"{path}: the file ends the process ({error.code})") from error
    return module


def _package(file: Path) -> tuple[Path, str]:
    """The directory to import from, and the dotted package that holds the file."""
    parts: list[str] = []
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _line(error: BaseException, code: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == code:
        return f":{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == code]
    return f":{lines[-1]}" if lines else ""


def _record_compilations() -> None:
    """Compiling would need a CUDA compiler, and a worker wants the kernel only."""
    import tilelang
    import tilelang.jit

    def record(func: Any = None, *_: Any, pass_configs: Any = None, **__: Any) -> Uncompiled:
        COMPILED.append(Uncompiled(func, pass_configs))
        return COMPILED[-1]

    tilelang.compile = tilelang.jit.compile = record

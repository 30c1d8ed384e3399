"""The other end of `python -m reducer_compat.verify`: a process that executes the user's file."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from reducer_migrate.verify.releases import environment

#: Loading TileLang and the user's file.
START_SECONDS = 300.0
_STAYS = 10.0
#: What the runtime's refusal of a TileLang begins with.
_REFUSES = "RC001"


class WorkerError(Exception):
    """What a worker answered in place of a result. `kind` is that of its protocol, or `died`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Setting:
    """What a worker executes, and in which TileLang.

    `path` is the user's file, `code` what stands for it; `release` the directory of a side-by-side
    install, None for the environment's own; `compat` whether the runtime lowers the kernels.
    """

    path: str
    code: str
    release: Path | None
    compat: bool


@dataclass
class Worker:
    """One process at a time: started when it is needed, and again after it died or hung."""

    setting: Setting
    seconds: float
    release: str = ""
    _process: subprocess.Popen[str] | None = None
    _answers: queue.Queue[str] = field(default_factory=queue.Queue)
    _errors: IO[bytes] | None = None
    _failed: WorkerError | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request.

        Raises:
            WorkerError: the worker could not load the file, answered with an error, died, or took
                longer than `seconds`.
        """
        self.start()
        return self._exchange(request, self.seconds)

    def start(self) -> None:
        """Start the process and load the file, unless that was done; sets `release`.

        Raises:
            WorkerError: it fails; every later call fails in the same way.
        """
        if self._failed is not None:
            raise self._failed
        if self._process is not None:
            return
        self._spawn()
        try:
            paths = {"path": self.setting.path, "code": self.setting.code}
            self.release = str(self._exchange(paths, START_SECONDS)["release"])
        except WorkerError as error:
            self._failed = error
            self.stop()
            raise

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        try:
            process.wait(timeout=0 if self._failed else _STAYS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._errors is not None:
            self._errors.close()

    def _spawn(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by stop
        self._answers = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reducer_compat.verify"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=self._environment(),
        )
        reader = threading.Thread(target=_read, args=(self._process, self._answers), daemon=True)
        reader.start()

    def _environment(self) -> dict[str, str]:
        base = dict(os.environ)
        base["PYTHONPATH"] = os.pathsep.join(
            filter(None, [*_own_roots(), os.environ.get("PYTHONPATH")])
        )
        # TileLang logs to a stream that is read only after a crash.
        mode = "canonical" if self.setting.compat else "off"
        return {**environment(self.setting.release, base), "REDUCER_COMPAT": mode}

    def _exchange(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            process.kill()
            self.stop()
            raise WorkerError("timeout", f"not done after {seconds:g} s") from None
        except OSError:
            line = ""
        if not line:
            raise self._died(process)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"]["kind"], answer["error"]["message"])
        if answer.get("last"):
            self.stop()
        return answer

    def _died(self, process: subprocess.Popen[str]) -> WorkerError:
        code = process.wait()
        lines = self._last_lines()
        said = lines[-1] if lines else ""
        self.stop()
        # The runtime checks TileLang when it is imported, before the worker can answer.
        refusal = next((line for line in lines if _REFUSES in line), None)
        if refusal is not None:
            return WorkerError("environment", f"{refusal.partition(_REFUSES)[2].strip()}: {said}")
        end = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return WorkerError("died", f"the process ended with {end}{': ' if said else ''}{said}")

    def _last_lines(self) -> list[str]:
        if self._errors is None:
            return []
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        return [line.strip() for line in lines if line.strip()]


def _read(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    """Hand over the lines of a process, and an empty one at its end."""
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put("")


def _own_roots() -> list[str]:
    """The directories that this package and the runtime are imported from."""
    found = []
    for name in ("reducer_migrate", "reducer_rules", "reducer_compat"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(str(Path(spec.origin).parents[1]))
    return list(dict.fromkeys(found))

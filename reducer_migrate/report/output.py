"""A stream that outlives its reader and holds any character."""

from __future__ import annotations

import io
import os
from typing import TextIO


class Output:
    """Writes text and bytes to one standard stream.

    What the stream's encoding lacks is escaped. When the reader goes away (`| head`) the rest is
    dropped and the run goes on: files must not depend on who reads the findings.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    @property
    def terminal(self) -> bool:
        """Whether a person is looking."""
        return self._stream.isatty()

    @property
    def colour(self) -> bool:
        """Whether to use colour: on a terminal that knows it, unless NO_COLOR is set."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return self.terminal and not plain

    def text(self, text: str) -> None:
        """Write text."""
        try:
            self._stream.write(text)
        except BrokenPipeError:
            self._drop()

    def bytes(self, content: bytes) -> None:
        """Write bytes as they are."""
        try:
            self._stream.flush()
            self._stream.buffer.write(content)
            self._stream.buffer.flush()
        except BrokenPipeError:
            self._drop()

    def flush(self) -> None:
        """Hand over what is buffered."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """Let the descriptor lead nowhere, so that the flush at exit fails no more."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

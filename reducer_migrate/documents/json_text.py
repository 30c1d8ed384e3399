"""JSON as text: where the strings of interest lie, and which character came from where."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_SPACE = re.compile(r"[ \t\n\r]*")
_ESCAPE = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u\w{4}|\\.", re.DOTALL)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class JsonString:
    """One string: its value, and the range of the document between its quotes."""

    value: str
    start: int
    raw: str

    @property
    def end(self) -> int:
        return self.start + len(self.raw)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each character of the value starts in the document, and where the last ends."""
        found: list[int] = []
        position = 0
        for escape in _ESCAPE.finditer(self.raw):
            found += range(position, escape.start())
            found.append(escape.start())
            position = escape.end()
        found += range(position, len(self.raw) + 1)
        return tuple(self.start + offset for offset in found)


class JsonText:
    """Walks one JSON document that is known to be well formed.

    Every method takes the place where a value starts.
    """

    def __init__(self, text: str) -> None:
        """Check the document, at the speed of the standard library's parser.

        Raises:
            json.JSONDecodeError: it is no JSON.
            RecursionError: it is nested too deeply.
        """
        self.text = text
        self.document: object = json.loads(text)
        self.start = self._space(0)

    def members(self, position: int) -> Iterator[tuple[str, int]]:
        """The keys of an object, each with the place where its value starts."""
        for at in self._entries(position, "}"):
            key = self.string(at)
            yield key.value, self._after_colon(key)

    def items(self, position: int) -> Iterator[int]:
        """The places where the items of an array start."""
        yield from self._entries(position, "]")

    def skip(self, position: int) -> int:
        """Where the value that starts at `position` ends."""
        return _DECODER.raw_decode(self.text, position)[1]

    def string(self, position: int) -> JsonString:
        """The string that starts at `position`."""
        value, end = _DECODER.raw_decode(self.text, position)
        return JsonString(value, position + 1, self.text[position + 1 : end - 1])

    def _entries(self, position: int, closing: str) -> Iterator[int]:
        """Where the entries of an object or array start. The whole of it was parsed before."""
        at = self._space(position + 1)
        while self.text[at] != closing:
            yield at
            if closing == "}":
                at = self._after_colon(self.string(at))
            at = self._space(self.skip(at))
            if self.text[at] == ",":
                at = self._space(at + 1)

    def _after_colon(self, key: JsonString) -> int:
        return self._space(self._space(key.end + 1) + 1)

    def _space(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return position if match is None else match.end()

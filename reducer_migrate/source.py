"""Python source as bytes, text and positions, with an exact way back to bytes."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property

_LINE_END = re.compile("\r\n|\r|\n")


class UndecodableError(ValueError):
    """The bytes are not text in the encoding that they declare."""


@dataclass(frozen=True)
class Source:
    """One file: its path as shown to users, its bytes, and its decoded text.

    The text holds the original line ends and no byte order mark.
    """

    path: str
    raw: bytes
    text: str
    encoding: str
    bom: bytes = b""

    @classmethod
    def read(cls, path: str, raw: bytes) -> Source:
        """Decode `raw` by its byte order mark or PEP 263 cookie, UTF-8 by default.

        Raises:
            UndecodableError: an unknown or wrong encoding, or one that does not give the same
                bytes back.
        """
        bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        body = raw[len(bom) :]
        try:
            # The standard library looks for a cookie on lines that end in "\n" only.
            head = _LINE_END.sub("\n", body[:512].decode("latin-1")).encode("latin-1")
            encoding, _ = tokenize.detect_encoding(io.BytesIO(bom + head).readline)
            encoding = "utf-8" if encoding == "utf-8-sig" else encoding
            text = body.decode(encoding)
        except (SyntaxError, LookupError, UnicodeDecodeError) as error:
            raise UndecodableError(str(error)) from error
        source = cls(path, raw, text, encoding, bom)
        if source.encode(text) != raw:
            raise UndecodableError(f"decoding as {encoding} and encoding again changes the file")
        return source

    @classmethod
    def of(cls, text: str, path: str = "<stdin>") -> Source:
        """Wrap text that is already decoded."""
        return cls(path, text.encode(), text, "utf-8")

    def encode(self, text: str) -> bytes:
        """Bytes of `text` in this file's encoding, with its byte order mark.

        Raises:
            UnicodeEncodeError: the encoding cannot hold a character of `text`.
        """
        return self.bom + text.encode(self.encoding)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The character offset at which each line starts; line 1 is at index 0."""
        return (0, *(match.end() for match in _LINE_END.finditer(self.text)))

    @cached_property
    def newline(self) -> str:
        """The line end used most, `\\n` where there is none."""
        ends = _LINE_END.findall(self.text)
        return max(("\n", "\r\n", "\r"), key=ends.count) if ends else "\n"

    def line(self, number: int) -> str:
        """Line `number`, from 1, without its line end."""
        start = self.line_starts[number - 1]
        following = self.line_starts[number] if number < len(self.line_starts) else len(self.text)
        return _LINE_END.sub("", self.text[start:following])

    def offset(self, line: int, column: int) -> int:
        """The character offset of an `ast` position: line from 1, column in UTF-8 bytes."""
        start = self.line_starts[line - 1]
        following = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        content = self.text[start:following]
        if content.isascii():
            return start + min(column, len(content))
        return start + len(content.encode()[:column].decode(errors="ignore"))

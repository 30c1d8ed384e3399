"""What is no Python in a cell or a block, hidden behind fillers of the same length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

#: Cell magics whose body is Python that runs in, or is written by, the notebook.
_PYTHON_MAGICS = frozenset(
    {"capture", "debug", "ipytest", "prun", "pypy", "python", "python3", "time", "timeit"}
)
_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w+)[ \t]*(?P<rest>[^\r\n]*)")
_MAGIC = re.compile(
    r"""[ \t]*(?:
    (?P<line>[%!?].*)                          # %timeit f(), !ls, ?f
    |(?P<help>[%\w.*]+\?{1,2}[ \t]*\r?$)       # f?
    |[^\n=()'"\#]*=[ \t]*(?P<value>[%!].*)     # files = !ls
    )""",
    re.VERBOSE | re.MULTILINE,
)
_TOKEN = re.compile(
    r'''(?P<string>"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'(?:[^\\]|\\.)*?(?:\'\'\'|\Z)
    |"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
    |(?P<comment>\#[^\n]*)
    |(?P<opened>[\[({])|(?P<closed>[\])}])
    |(?P<joined>\\\r?\n)
    |(?P<end>\n)''',
    re.VERBOSE | re.DOTALL,
)
_PARAMETERS = re.compile(r"\bdef[ \t]+\w+[ \t]*\((?:[^()]|\([^()]*\))*\)")
_ELIDED = re.compile(r"(?<=[(,])\s*(?P<dots>\.\.\.)(?=\s*[,)])")


class LostFillerError(ValueError):
    """A rewrite dropped or doubled a filler, so what it stands for has no place any more."""


@dataclass(frozen=True, slots=True)
class Masked:
    """Text with fillers. `hidden` holds, in order, where each one starts and what it hides.

    A filler is a run of a character that the text does not hold otherwise, with `*` or `#`
    before it where Python's grammar asks for that.
    """

    text: str
    filler: str = ""
    hidden: tuple[tuple[int, str], ...] = ()

    def restore(self, start: int, end: int, text: str) -> str:
        """`text`, which takes the place of `[start, end)`, with what the fillers there hide.

        Raises:
            LostFillerError: it does not hold just these fillers.
        """
        originals = [original for at, original in self.hidden if start <= at < end]
        if not self.hidden:
            return text
        pattern = re.compile(rf"[*#]?{self.filler}+")
        if [len(run) for run in pattern.findall(text)] != [len(part) for part in originals]:
            raise LostFillerError("a line that is no Python would be lost")
        remaining = iter(originals)
        return pattern.sub(lambda _: next(remaining), text)


def mask_notebook(text: str) -> Masked | None:
    """Hide the magics of a code cell; None where a cell magic makes the body something else."""
    magic = _CELL_MAGIC.match(text)
    start = 0
    if magic is not None:
        writes_python = magic["name"] in ("writefile", "file") and magic["rest"].endswith(".py")
        if magic["name"] not in _PYTHON_MAGICS and not writes_python:
            return None
        start = magic.start("name") - 2
    return _mask(text, ((at, end, "") for at, end in _magics(text, start)))


def mask_fragment(text: str) -> Masked:
    """Hide the dots of elided parameters, `def kernel(A, ...):`, which do not parse."""
    dots = (
        (found.start() + dots.start("dots"), found.start() + dots.end("dots"), "*")
        for found in _PARAMETERS.finditer(text)
        for dots in _ELIDED.finditer(found[0])
    )
    return _mask(text, dots)


def _mask(text: str, spans: Iterable[tuple[int, int, str]]) -> Masked:
    """Put a filler over each span; the lines of a span after its first one become comments."""
    found = list(spans)
    if not found:
        return Masked(text)
    # Letters of a script that no magic is written in: valid in names, whatever surrounds them.
    filler = next(chr(code) for code in range(0xA000, 0xA48D) if chr(code) not in text)
    parts: list[str] = []
    hidden: list[tuple[int, str]] = []
    position = 0
    for start, end, lead in found:
        parts.append(text[position:start])
        at = start
        for line in re.finditer(r"[^\r\n]+", text[start:end]):
            parts.append(text[at : start + line.start()])
            at = start + line.end()
            mark = lead if line.start() == 0 else "#"
            parts.append((mark + filler * len(line[0]))[: len(line[0])])
            hidden.append((start + line.start(), line[0]))
        position = at
    parts.append(text[position:])
    return Masked("".join(parts), filler, tuple(hidden))


def _magics(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where magics stand: at the start of a statement, or after the `=` of one."""
    position, depth, opens = start, 0, True
    while position < len(text):
        if opens:
            magic = _MAGIC.match(text, position)
            if magic is not None:
                group = magic.lastgroup or "line"
                end = _continued(text, magic.end())
                yield magic.start(group), end
                position = end
        token = _TOKEN.search(text, position)
        if token is None:
            return
        depth += (token.lastgroup == "opened") - (token.lastgroup == "closed" and depth > 0)
        opens = token.lastgroup == "end" and depth == 0
        position = token.end()


def _continued(text: str, end: int) -> int:
    """The end of a magic's last line: a backslash at the end of one takes in the next."""
    while True:
        newline = text.find("\n", end)
        end = len(text) if newline < 0 else newline
        line = text[:end].removesuffix("\r")
        if newline < 0 or not line.endswith("\\"):
            return len(line)
        end += 1

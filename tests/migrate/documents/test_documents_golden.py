"""Every golden kernel comes out of a notebook and of Markdown just as it comes out of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reducer_migrate import judge as plain
from reducer_migrate.documents.judge import carry_out, judge
from reducer_migrate.judge import Policy
from reducer_migrate.source import Source

GOLDEN = Path(__file__).parents[2] / "golden"
KERNELS = [
    path
    for path in sorted(GOLDEN.glob("*.py"))
    if path.name.count(".") == 1 and not {b"\r", b"\f"} & {bytes([b]) for b in path.read_bytes()}
]
POLICY = Policy()


def notebook(source: str | list[str], *, indent: int | None, ascii_only: bool) -> str:
    """A notebook with `alloc_reducer` in one cell, and where it must be left alone."""
    code = {
        "cell_type": "code",
        "metadata": {"tags": [{"source": ["T.alloc_reducer"]}]},
        "outputs": [{"text": ["acc = T.alloc_reducer((1,))\n"]}],
        "source": source,
        "execution_count": None,
    }
    text = {"cell_type": "markdown", "metadata": {}, "source": "`T.alloc_reducer`"}
    cells = {"cells": [text, code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(cells, indent=indent, ensure_ascii=ascii_only)


def lines(code: str) -> list[str]:
    return code.removesuffix("\n").split("\n")


def listed(code: str) -> list[str]:
    """Source as Jupyter stores it: one string a line, the last one without a line end."""
    *before, last = lines(code)
    return [f"{line}\n" for line in before] + [last]


def prefixed(prefix: str, code: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in lines(code))


LAYOUTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "list": ("k.ipynb", lambda code: notebook(listed(code), indent=1, ascii_only=False)),
    "string": ("k.ipynb", lambda code: notebook(code, indent=None, ascii_only=True)),
    "fence": ("k.md", lambda code: f"# One\n```python\n{code}```\nacc\n"),
    "item": ("k.md", lambda code: "- a\n\n    ~~~py\n" + prefixed("    ", code) + "    ~~~\n"),
    "quote": ("k.md", lambda code: ">  ```py\n" + prefixed(">    ", code) + ">  ```\n"),
}


def _different(path: Path, layout: str) -> bool:
    name, wrap = LAYOUTS[layout]
    code = Source.read(path.name, path.read_bytes()).text
    expected = plain.carry_out(plain.judge(Source.of(code), POLICY), POLICY).text
    document = judge(name, wrap(code).encode(), POLICY)
    return carry_out(document, POLICY).text != wrap(expected)


@pytest.mark.parametrize("first", range(len(LAYOUTS)), ids=list(LAYOUTS))
def test_a_document_gives_what_a_file_gives(first: int) -> None:
    """Each kernel in one layout; the layouts take turns, so that the test stays short."""
    layout = list(LAYOUTS)[first]
    kernels = KERNELS[first :: len(LAYOUTS)]
    assert len(kernels) > 15
    assert [path.name for path in kernels if _different(path, layout)] == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_block_is_indented_as_those_around_it(layout: str) -> None:
    assert not _different(GOLDEN / "finalize_compile_time_flag_wrapped.py", layout)

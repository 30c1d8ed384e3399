"""Every command that the README shows does what the README shows.

`console` blocks are run here, each in a fresh copy of the examples, and their output compared
(`exit=1` after the word says the exit code of the last command, `release=0.1.13` that it needs this
TileLang in the directory that REDUCER_RELEASES names; a user's first run installs it from an index,
here it is linked from there, by a pip that stands for the real one). `sh ci` blocks set up a
machine; `.ci/run` executes them in a clean checkout, one after the other, and gets them from this
file:

    python tests/test_readme.py setup       prints the `sh ci` blocks
    python tests/test_readme.py update      writes the real output into the `console` blocks
                                            that can be run here
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, the commands, and the text as it stands."""

    info: tuple[str, ...]
    body: str

    @property
    def commands(self) -> list[str]:
        return [line[2:] for line in self.body.split("\n") if line.startswith("$ ")]

    @property
    def exit_code(self) -> int:
        codes = [int(word[5:]) for word in self.info if word.startswith("exit=")]
        return codes[0] if codes else 0

    @property
    def lacks(self) -> str:
        """The release that the commands need and that is not there, else nothing."""
        held = os.environ.get("REDUCER_RELEASES", "")
        wanted = [word[8:] for word in self.info if word.startswith("release=")]
        return next((each for each in wanted if not Path(held, each).is_dir() or not held), "")


def blocks(kind: str) -> list[Block]:
    """The blocks whose first word is `kind`."""
    found = [
        Block(tuple(match["info"].split()), match["body"])
        for match in _BLOCK.finditer(README.read_text())
    ]
    return [block for block in found if block.info[:1] == (kind,)]


def run(block: Block) -> tuple[str, int]:
    """The block as it should stand, and the exit code of its last command."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder, "project")
        shutil.copytree(ROOT / "examples", directory / "examples")
        (directory / ".git").mkdir()
        environment = _environment(Path(folder))
        shown, code = "", 0
        for command in block.commands:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=directory,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            shown += f"$ {command}\n{done.stdout}"
            code = done.returncode
        return shown, code


def _environment(folder: Path) -> dict[str, str]:
    """An environment in which `reducer-migrate` is this working tree."""
    program = folder / "bin" / "reducer-migrate"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reducer_migrate "$@"\n')
    program.chmod(0o755)
    paths = (str(folder), str(ROOT), str(ROOT / "rules"), str(ROOT / "compat"))
    kept = {name: value for name, value in os.environ.items() if name not in _OF_THE_USER}
    return {
        **kept,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(paths),
        "HOME": str(_home(folder)),
    }


#: What would say where releases lie, in place of the home of somebody who has none yet.
_OF_THE_USER = frozenset({"REDUCER_RELEASES", "XDG_CACHE_HOME"})
_PIP = """\
import os, sys
target = sys.argv[sys.argv.index("--target") + 1]
release = next(arg.partition("==")[2] for arg in sys.argv if arg.startswith("tilelang=="))
os.symlink(os.path.join({held!r}, release), target)
"""


def _home(folder: Path) -> Path:
    """An empty home, whose pip has the releases of REDUCER_RELEASES for an index."""
    held = Path(os.environ.get("REDUCER_RELEASES", "")).resolve()
    (folder / "pip").mkdir()
    (folder / "pip" / "__main__.py").write_text(_PIP.format(held=str(held)))
    (folder / "pip" / "__init__.py").touch()
    home = folder / "home"
    home.mkdir()
    return home


def test_the_readme_shows_real_output() -> None:
    shown = [block for block in blocks("console") if not block.lacks]
    assert len(shown) >= 5
    for block in shown:
        real, code = run(block)
        assert real == block.body
        assert code == block.exit_code


def test_every_command_is_in_a_block_that_is_run() -> None:
    text = README.read_text()
    run_somewhere = [*blocks("console"), *(b for b in blocks("sh") if b.info == ("sh", "ci"))]
    assert len(_BLOCK.findall(text)) == len(run_somewhere)


def _updated() -> Iterator[str]:
    text, position = README.read_text(), 0
    for match in _BLOCK.finditer(text):
        block = Block(tuple(match["info"].split()), match["body"])
        runs = block.info[:1] == ("console",) and not block.lacks
        body = run(block)[0] if runs else block.body
        yield text[position : match.start("body")] + body
        position = match.end("body")
    yield text[position:]


if __name__ == "__main__":
    if sys.argv[1:] == ["setup"]:
        print("".join(block.body for block in blocks("sh") if "ci" in block.info), end="")
    elif sys.argv[1:] == ["update"]:
        README.write_text("".join(list(_updated())))
    else:
        sys.exit(__doc__)

"""A place to run the command in, and the kernels it runs on."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_cases import Command, Done

from reducer_migrate.__main__ import main


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Command:
    """Run the command in an empty repository that is pinned to TileLang 0.1.15."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("tilelang==0.1.15\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as exit:
            main(arguments)
        captured = capfdbinary.readouterr()
        code = exit.value.code
        assert isinstance(code, int)
        return Done(code, captured.out, captured.err.decode())

    return run

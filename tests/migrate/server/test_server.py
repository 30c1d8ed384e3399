"""The language server over stdio, driven by a client of the protocol's own library."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from reducer_migrate.server.command import server
from reducer_migrate.server.judged import judge_text

ROOT = Path(__file__).parents[3]
V1 = """\
# \N{GRINNING FACE} wide
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    x = "\N{GRINNING FACE}"; acc[0] += A[i]
T.finalize_reducer(acc)
T.copy(acc, B)
"""
V2 = """\
# \N{GRINNING FACE} wide
acc = T.alloc_reducer((1,), "float32")
acc_result = T.alloc_fragment((1,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    x = "\N{GRINNING FACE}"; T.reducer_update(acc[0], A[i])
T.finalize_reducer(acc, acc_result)
T.copy(acc_result, B)
"""


class Client(LanguageClient):
    """Collects the diagnostics that the server publishes."""

    def __init__(self) -> None:
        super().__init__("tests", "1")
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

    async def codes(self) -> list[str]:
        params = await asyncio.wait_for(self.published.get(), 30)
        return [str(each.code) for each in params.diagnostics]


def session(tmp_path: Path, script: Callable[[Client, str], Awaitable[None]]) -> None:
    """Run `script` against a fresh server for one file in `tmp_path`."""
    (tmp_path / "reducer-migrate.toml").write_text('tilelang = "0.1.15"\n')
    path = tmp_path / "kernel.py"
    path.write_text(V1)

    async def main() -> None:
        client = Client()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            client.published.put_nowait(params)

        paths = os.pathsep.join(str(ROOT / part) for part in ("", "rules", "compat"))
        environment = {**os.environ, "PYTHONPATH": paths}
        await client.start_io(sys.executable, "-m", "reducer_migrate", "server", env=environment)
        await client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=None)
        )
        client.initialized(types.InitializedParams())
        uri = path.as_uri()
        item = types.TextDocumentItem(uri, "python", 1, V1)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await script(client, uri)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    asyncio.run(main())


def change(client: Client, uri: str, version: int, text: str) -> None:
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version, uri),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
    )


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """`text` after edits whose positions count UTF-16 units."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode("utf-16-le")))
    raw = text.encode("utf-16-le")
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character))[::-1]:
        start = starts[edit.range.start.line] + 2 * edit.range.start.character
        end = starts[edit.range.end.line] + 2 * edit.range.end.character
        raw = raw[:start] + edit.new_text.encode("utf-16-le") + raw[end:]
    return raw.decode("utf-16-le")


async def actions(client: Client, uri: str, line: int, kind: str) -> list[types.CodeAction]:
    place = types.Range(types.Position(line, 0), types.Position(line + 1, 0))
    found: Any = await client.text_document_code_action_async(
        types.CodeActionParams(
            types.TextDocumentIdentifier(uri), place, types.CodeActionContext([], only=[kind])
        )
    )
    return list(found or [])


def test_diagnostics_follow_the_typing(tmp_path: Path) -> None:
    async def script(client: Client, uri: str) -> None:
        first = await asyncio.wait_for(client.published.get(), 30)
        assert [each.code for each in first.diagnostics] == ["RM101", "RM103", "RM104", "RM107"]
        update = first.diagnostics[2].range
        # The face is one character and two UTF-16 units.
        assert (update.start.line, update.start.character) == (4, 14)
        change(client, uri, 2, V1.replace("+=", "*="))
        assert await client.codes() == ["RM202"]
        change(client, uri, 3, "acc = T.alloc_reducer(")
        assert await client.codes() == ["RM001"]
        change(client, uri, 4, V2)
        assert await client.codes() == []

    session(tmp_path, script)


def test_hover_gives_the_help_of_the_rule(tmp_path: Path) -> None:
    async def script(client: Client, uri: str) -> None:
        hover = await client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(2, 3))
        )
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        assert "RM103" in hover.contents.value
        assert "clear-or-fill-opener" in hover.contents.value
        nothing = await client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 0))
        )
        assert nothing is None

    session(tmp_path, script)


@pytest.mark.parametrize("kind", ["quickfix", "source.fixAll.reducer-migrate"])
def test_fixes_give_the_rewrite(tmp_path: Path, kind: str) -> None:
    async def script(client: Client, uri: str) -> None:
        (action,) = await actions(client, uri, 4, kind)
        assert action.edit is not None
        assert action.edit.changes is not None
        assert applied(V1, list(action.edit.changes[uri])) == V2

    session(tmp_path, script)


def test_a_warm_pass_is_quick(tmp_path: Path) -> None:
    """50 ms is the goal on a quiet machine; a busy one gets slack, a second pass no excuse."""
    from reducer_migrate.pipeline import Pipeline
    from reducer_migrate.settings import Mode, Settings

    policy = Pipeline(Settings(mode=Mode.CHECK)).policy_of(str(tmp_path / "k.py"))
    assert policy is not None
    text = (ROOT / "tests" / "golden" / "update_forms.py").read_text()
    times = []
    for turn in range(6):
        start = time.perf_counter()
        judge_text("k.py", f"{text}\n# {turn}\n", policy)
        times.append(time.perf_counter() - start)

    assert min(times[1:]) < 0.05


def test_without_the_library_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("reducer_migrate.server.service")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    result = CliRunner().invoke(server)

    assert result.exit_code != 0
    assert "pip install 'reducer-migrate[server]'" in result.output

"""The server itself: what it offers to clients, over what it knows of the open documents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from reducer_migrate import __version__, config
from reducer_migrate.documentation import find, markdown
from reducer_migrate.names import names_reducer
from reducer_migrate.pipeline import Pipeline
from reducer_migrate.server.convert import Converter, overlap
from reducer_migrate.server.judged import Judged, judge_text
from reducer_migrate.settings import Mode, Settings

FIX_ALL = "source.fixAll.reducer-migrate"
#: Seconds without a keystroke before a document is judged.
_PAUSE = 0.15


class Service(LanguageServer):
    """Judges open documents, and keeps what it found for each until its text changes."""

    def __init__(self) -> None:
        # Whole texts, since a client and Python disagree on what ends a line within them.
        super().__init__("reducer-migrate", __version__, types.TextDocumentSyncKind.Full)
        self._judged: dict[str, tuple[int | None, Judged]] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._pipeline = Pipeline(Settings(mode=Mode.CHECK))

    def judged(self, uri: str) -> Judged | None:
        """What is found in the current text; None where no reducer is named or it is excluded."""
        document = self.workspace.get_text_document(uri)
        known = self._judged.get(uri)
        if known is not None and known[0] == document.version:
            return known[1]
        text = document.source
        if not names_reducer(text.encode(errors="surrogatepass")):
            return None
        try:
            policy = self._pipeline.policy_of(document.path or uri)
        except config.ConfigError as error:
            self._say(str(error))
            return None
        if policy is None:
            return None
        found = judge_text(document.path or uri, text, policy)
        self._judged[uri] = (document.version, found)
        return found

    def converter(self, judged: Judged) -> Converter:
        return Converter(judged.source, self.workspace.position_encoding)

    def publish(self, uri: str) -> None:
        """Send the findings of the current text."""
        handle = self._waiting.pop(uri, None)
        if handle is not None:
            handle.cancel()
        document = self.workspace.get_text_document(uri)
        judged = self.judged(uri)
        found = (
            []
            if judged is None
            else [self.converter(judged).diagnostic(each) for each in judged.diagnostics]
        )
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, found, document.version)
        )

    def publish_soon(self, uri: str) -> None:
        """Send the findings once the typing pauses."""
        handle = self._waiting.pop(uri, None)
        if handle is not None:
            handle.cancel()
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(_PAUSE, self.publish, uri)

    def configuration_changed(self) -> None:
        """Read the configuration and the pins of the project again."""
        config.forget()
        self._pipeline = Pipeline(Settings(mode=Mode.CHECK))
        self._judged.clear()
        for uri in list(self.workspace.text_documents):
            self.publish(uri)

    def close(self, uri: str) -> None:
        handle = self._waiting.pop(uri, None)
        if handle is not None:
            handle.cancel()
        self._judged.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _say(self, problem: str) -> None:
        self.window_show_message(
            types.ShowMessageParams(types.MessageType.Error, f"reducer-migrate: {problem}")
        )


def service() -> Service:
    """The server with everything that it answers to."""
    made = Service()
    _follow_documents(made)
    made.feature(types.TEXT_DOCUMENT_HOVER)(_hover)
    kinds = [types.CodeActionKind.QuickFix, FIX_ALL]
    options = types.CodeActionOptions(code_action_kinds=kinds)
    made.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(_code_actions)
    return made


def _follow_documents(made: Service) -> None:
    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(server: Service, params: types.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(server: Service, params: types.DidChangeTextDocumentParams) -> None:
        server.publish_soon(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(server: Service, params: types.DidSaveTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(server: Service, params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @made.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(server: Service, params: types.DidChangeWatchedFilesParams) -> None:
        server.configuration_changed()


def _hover(server: Service, params: types.HoverParams) -> types.Hover | None:
    """The help and the explanation of every rule that reports something here."""
    judged = server.judged(params.text_document.uri)
    if judged is None:
        return None
    converter = server.converter(judged)
    here = types.Range(params.position, params.position)
    found = [
        each
        for each in judged.diagnostics
        if overlap(converter.range(each.file_start, each.file_end), here)
    ]
    if not found:
        return None
    codes = dict.fromkeys(each.code for each in found)
    text = "\n\n---\n\n".join(markdown(find(code)) for code in codes)
    first = found[0]
    return types.Hover(
        types.MarkupContent(types.MarkupKind.Markdown, text),
        converter.range(first.file_start, first.file_end),
    )


def _code_actions(server: Service, params: types.CodeActionParams) -> list[types.CodeAction]:
    """One fix for each reducer with a finding in the range, and one for all of the document."""
    judged = server.judged(params.text_document.uri)
    if judged is None:
        return []
    actions: list[types.CodeAction] = []
    only = params.context.only
    if _wanted(types.CodeActionKind.QuickFix.value, only):
        actions += _quick_fixes(server, judged, params)
    if _wanted(FIX_ALL, only) and judged.everything is not None:
        edits = server.converter(judged).edits([judged.everything])
        actions.append(
            types.CodeAction(
                title="Rewrite every v1 reducer that can be rewritten",
                kind=FIX_ALL,
                edit=types.WorkspaceEdit({params.text_document.uri: edits}),
            )
        )
    return actions


def _quick_fixes(
    server: Service, judged: Judged, params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    converter = server.converter(judged)
    here = {
        each.group
        for each in judged.diagnostics
        if overlap(converter.range(each.file_start, each.file_end), params.range)
    }
    for ident, offered in judged.offers.items() if here - {None} else ():
        if ident not in here:
            continue
        solved = [each for each in judged.diagnostics if each.group == ident]
        yield types.CodeAction(
            title=f"Rewrite reducer `{offered.group.reducer}` to v2",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[converter.diagnostic(each) for each in solved],
            edit=types.WorkspaceEdit({params.text_document.uri: converter.edits([offered])}),
            is_preferred=True,
        )


def _wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether a client that asks for `only` these kinds, or kinds above them, wants `kind`."""
    return only is None or any(f"{kind}.".startswith(f"{_text(each)}.") for each in only)


def _text(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind

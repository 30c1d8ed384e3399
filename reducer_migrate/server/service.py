"""The server itself: what it offers to clients, over what it knows of the open documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from reducer_migrate import __version__, config
from reducer_migrate.documentation import find, markdown
from reducer_migrate.names import names_reducer
from reducer_migrate.server.convert import Converter, overlap
from reducer_migrate.server.judged import Judged, judge_text
from reducer_migrate.server.notebooks import Notebook
from reducer_migrate.server.policies import Policies

FIX_ALL = "source.fixAll.reducer-migrate"
#: Seconds without a keystroke before a document is judged.
_PAUSE = 0.15
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithCells(
            [types.NotebookCellLanguage("python")],
            types.NotebookDocumentFilterNotebookType("jupyter-notebook"),
        )
    ],
    save=True,
)


class Service(LanguageServer):
    """Judges open documents, and keeps what it found for each until its text changes.

    A document is a text or a notebook; the cells of a notebook are texts of their own to the
    client, and are judged together.
    """

    def __init__(self) -> None:
        # Whole texts, since a client and Python disagree on what ends a line within them.
        super().__init__(
            "reducer-migrate",
            __version__,
            types.TextDocumentSyncKind.Full,
            notebook_document_sync=_NOTEBOOKS,
        )
        self.notebooks: dict[str, Notebook] = {}
        self._judged: dict[str, tuple[int | None, Judged]] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._policies = Policies(self._say)

    def judged(self, uri: str) -> Judged | None:
        """What is found in the current text; None where no reducer is named or it is excluded."""
        notebook = self.notebook_of(uri)
        if notebook is not None:
            return notebook.judged(self._policies.of(notebook.path)).get(uri)
        document = self.workspace.get_text_document(uri)
        known = self._judged.get(uri)
        if known is not None and known[0] == document.version:
            return known[1]
        text = document.source
        if not names_reducer(text.encode(errors="surrogatepass")):
            return None
        policy = self._policies.of(document.path or uri)
        if policy is None:
            return None
        found = judge_text(document.path or uri, text, policy)
        self._judged[uri] = (document.version, found)
        return found

    def notebook_of(self, cell: str) -> Notebook | None:
        """The open notebook that has this text as a cell."""
        return next((book for book in self.notebooks.values() if cell in book.texts), None)

    def converter(self, judged: Judged) -> Converter:
        return Converter(judged.source, self.workspace.position_encoding)

    def publish(self, uri: str) -> None:
        """Send the findings of the current text."""
        self._forget_waiting(uri)
        self._publish(uri, self.workspace.get_text_document(uri).version, self.judged(uri))

    def publish_notebook(self, uri: str) -> None:
        """Send the findings of every cell."""
        self._forget_waiting(uri)
        notebook = self.notebooks[uri]
        found = notebook.judged(self._policies.of(notebook.path))
        for cell in notebook.texts:
            self._publish(cell, notebook.versions[cell], found.get(cell))

    def _publish(self, uri: str, version: int | None, judged: Judged | None) -> None:
        found = (
            []
            if judged is None
            else [self.converter(judged).diagnostic(each) for each in judged.diagnostics]
        )
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def soon(self, publish: Callable[[str], None], uri: str) -> None:
        """Send the findings once the typing pauses."""
        self._forget_waiting(uri)
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(_PAUSE, publish, uri)

    def configuration_changed(self) -> None:
        """Read the configuration, the pins and the baseline of the project again."""
        config.forget()
        self._policies = Policies(self._say)
        self._judged.clear()
        for uri in list(self.workspace.text_documents):
            if self.notebook_of(uri) is None:
                self.publish(uri)
        for uri in self.notebooks:
            self.publish_notebook(uri)

    def close(self, uri: str) -> None:
        self._forget_waiting(uri)
        self._judged.pop(uri, None)
        self._publish(uri, None, None)

    def _forget_waiting(self, uri: str) -> None:
        handle = self._waiting.pop(uri, None)
        if handle is not None:
            handle.cancel()

    def _say(self, problem: str) -> None:
        self.window_show_message(
            types.ShowMessageParams(types.MessageType.Error, f"reducer-migrate: {problem}")
        )


def service() -> Service:
    """The server with everything that it answers to."""
    made = Service()
    _follow_documents(made)
    _follow_notebooks(made)
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
        server.soon(server.publish, params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(server: Service, params: types.DidSaveTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(server: Service, params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @made.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(server: Service, params: types.DidChangeWatchedFilesParams) -> None:
        server.configuration_changed()


def _follow_notebooks(made: Service) -> None:
    @made.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(server: Service, params: types.DidOpenNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        notebook = Notebook(to_fs_path(uri) or uri, list(params.notebook_document.cells))
        notebook.add(params.cell_text_documents)
        server.notebooks[uri] = notebook
        server.publish_notebook(uri)

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    async def changed(server: Service, params: types.DidChangeNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        notebook = server.notebooks[uri]
        for cell in notebook.change(params.change, server.workspace.position_encoding):
            server.close(cell)
        server.soon(server.publish_notebook, uri)

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(server: Service, params: types.DidSaveNotebookDocumentParams) -> None:
        server.publish_notebook(params.notebook_document.uri)

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(server: Service, params: types.DidCloseNotebookDocumentParams) -> None:
        server.close(params.notebook_document.uri)
        for cell in server.notebooks.pop(params.notebook_document.uri).texts:
            server.close(cell)


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

"""Python inside other files: the code cells of notebooks and the fenced blocks of Markdown.

A document is one file with regions of Python. Each region gives the engine a `Source`; what the
engine says of it and the edits it makes are carried back to the file.
"""

from __future__ import annotations

NOTEBOOK = ".ipynb"
MARKDOWN = (".md", ".markdown")
#: The suffixes of documents, in lower case.
SUFFIXES = (NOTEBOOK, *MARKDOWN)


def is_document(path: str) -> bool:
    """Whether the name says that Python lies inside something else."""
    return path.lower().endswith(SUFFIXES)

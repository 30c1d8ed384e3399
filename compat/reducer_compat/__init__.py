"""The runtime that gives v2 reducers to every TileLang release. Not built yet.

Importing it raises at once: a runtime that silently did nothing would leave kernels wrong.
"""

raise ImportError(
    "reducer_compat is not built yet: this release of reducer-migrate holds the codemod only. "
    "Migrate with `reducer-migrate` and run the result on TileLang 0.1.14 or newer."
)

"""A progress bar for people who wait: on a terminal, and only once a second has passed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_PATIENCE = 1.0


class Progress:
    """Counts files; rich is imported when the bar is first shown."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._visible_from = time.monotonic() + _PATIENCE
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def advance(self, files: int) -> None:
        """So many files are done."""
        if self._wanted and time.monotonic() >= self._visible_from:
            self._show(files)

    def hide(self) -> None:
        """Take the bar off the screen, for something else to be printed; it comes back."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, files: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("{task.completed:,} files"),
                BarColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("files", total=None)
            self._bar.start()
        if self._task is not None:
            self._bar.update(self._task, completed=files)

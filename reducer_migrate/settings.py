"""What the user asked for, as one value that the parts of a run read."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from reducer_migrate.config import Config, config_above, config_for, load


class Mode(Enum):
    """What becomes of a rewrite."""

    WRITE = "write"
    CHECK = "check"
    DIFF = "diff"


class Settings(NamedTuple):
    """The options of one run.

    `options` is what the command line says and goes before every configuration file;
    `config_file` is used instead of searching one, and `isolated` uses none.
    """

    mode: Mode = Mode.WRITE
    options: Config = Config()
    config_file: str | None = None
    isolated: bool = False
    quiet: bool = False
    debug: bool = False
    statistics: bool = False
    output_file: str | None = None
    stdin_filename: str | None = None
    write_baseline: bool = False
    jobs: int = 1

    def config_of(self, path: str) -> Config:
        """What holds for the file at `path`.

        Raises:
            ConfigError: its configuration cannot be used.
        """
        return self._laid_over(config_for(path)) if self._searches else self._fixed()

    def config_of_run(self, paths: tuple[str, ...]) -> Config:
        """What holds for the run as a whole: the nearest configuration above all `paths`.

        Raises:
            ConfigError: that configuration cannot be used.
        """
        return self._laid_over(config_above(paths)) if self._searches else self._fixed()

    @property
    def _searches(self) -> bool:
        return not self.isolated and self.config_file is None

    def _fixed(self) -> Config:
        return self._laid_over(load(self.config_file) if self.config_file else Config())

    def _laid_over(self, file: Config) -> Config:
        return self.options.over(file)

"""How each open document is judged: its configuration, its release and its baseline."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from reducer_migrate.baseline import Baseline, BrokenBaselineError
from reducer_migrate.config import ConfigError
from reducer_migrate.judge import Policy
from reducer_migrate.pipeline import Pipeline
from reducer_migrate.settings import Mode, Settings


class Policies:
    """Policies by path. `say` takes what is wrong with a configuration or a baseline."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._settings = Settings(mode=Mode.CHECK)
        self._pipeline = Pipeline(self._settings)
        self._baselines: dict[str, tuple[int, Baseline | None]] = {}

    def of(self, path: str) -> Policy | None:
        """How the document at `path` is judged; None where it is excluded or that is not known."""
        try:
            policy = self._pipeline.policy_of(path)
            configured = self._settings.config_of(path).baseline
        except ConfigError as error:
            self._say(str(error))
            return None
        if policy is None or configured is None:
            return policy
        return replace(policy, baseline=self._baseline(configured))

    def _baseline(self, path: str) -> Baseline | None:
        """The baseline as it is on disk now. One that is broken is said once and hides nothing."""
        try:
            changed = os.stat(path).st_mtime_ns
        except OSError:
            changed = 0
        known = self._baselines.get(path)
        if known is None or known[0] != changed:
            known = changed, self._load(path)
            self._baselines[path] = known
        return known[1]

    def _load(self, path: str) -> Baseline | None:
        try:
            return Baseline.load(path)
        except BrokenBaselineError as error:
            self._say(f"{path}: {error}")
            return None

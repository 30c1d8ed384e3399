"""What all tests share."""

from __future__ import annotations

import gc

import pytest

#: Files that take longest, the longest first: dealt last, one process would wait for them alone.
LONGEST = (
    "tests/compat/prove/test_prove_mutants.py",
    "tests/compat/test_kernels.py",
    "tests/packaging/test_packaging_install.py",
    "tests/fuzz/test_fuzz.py",
    "tests/compat/test_native.py",
    "tests/verify/test_verify_bad_input.py",
    "tests/compat/prove/test_prove_plans.py",
    "tests/compat/test_hip.py",
    "tests/verify/test_verify_command.py",
    "tests/compat/test_import.py",
    "tests/lowering/test_lowering.py",
    "tests/compat/test_caches.py",
    "tests/releases/test_ranges.py",
    "tests/compat/prove/test_prove_refusals.py",
    "tests/compat/test_waits.py",
    "tests/test_readme.py",
    "tests/integration/test_integration_pre_commit.py",
    "tests/compat/simt/test_simt_numbers.py",
)


def pytest_configure(config: pytest.Config) -> None:
    """Have pytest-xdist deal files as they come, not those with the most tests first."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    turn = {path: number for number, path in enumerate(LONGEST)}
    items.sort(key=lambda item: turn.get(item.nodeid.partition("::")[0], len(turn)))


def pytest_collection_finish() -> None:
    """Keep what was imported out of garbage collections: TileLang and torch are a million objects.

    A tenth of the time of a test that lowers a kernel goes into them otherwise.
    """
    gc.collect()
    gc.freeze()

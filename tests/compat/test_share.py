"""Between them the older releases run every case that the newest runs, and each runs some."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reducer_rules.release import TESTED
from tests.compat import share


def hands(monkeypatch: pytest.MonkeyPatch, count: int, **said: int) -> list[list[int]]:
    """What each release is dealt of so many cases, the oldest first."""
    monkeypatch.delenv("REDUCER_SHARE", raising=False)
    found = []
    for release in TESTED:
        installed = SimpleNamespace(release=release)
        monkeypatch.setattr(share, "adapter", lambda installed=installed: installed)
        found.append(list(share.dealt(range(count), **said)))
    return found


@pytest.mark.parametrize("count", [1, 2, 5, 7, 8, 72])
def test_the_older_releases_have_all_cases_between_them(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    *older, newest = hands(monkeypatch, count)
    assert newest == list(range(count))
    assert sorted({case for hand in older for case in hand}) == newest
    assert all(older)
    assert sum(map(len, older)) == max(count, len(older))


def test_fewer_hands_give_several_releases_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    *older, newest = hands(monkeypatch, 9, hands=3)
    assert [len(hand) for hand in older] == [3] * len(older)
    assert sorted({case for hand in older for case in hand}) == newest


def test_everything_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDUCER_SHARE", "all")
    assert share.dealt("ab", "cd") == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]

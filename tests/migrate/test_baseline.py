"""Baselines: what is adopted, what is new after the code moved, and broken files."""

from __future__ import annotations

import json

import pytest
from lint_samples import finding

from reducer_migrate.baseline import Baseline, BrokenBaselineError, dump

TEXT = "a = 1\nT.clear(acc)\nT.clear(acc)\nacc[0] += 1\n"


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ci" / "baseline.json"


def saved(path, *found):
    path.parent.mkdir(exist_ok=True)
    path.write_text(dump(path, found))
    return Baseline.load(path)


def test_the_file_is_readable_and_its_paths_are_relative_to_it(path):
    found = [finding("RM103", 3, path="src/k.py", text=TEXT)]
    found += [finding("RM103", 2, path="src/k.py", text=TEXT)]
    found += [finding("RM104", 4, path="src/k.py", text=TEXT)]
    assert dump(path, found) == (
        """\
{
  "version": 1,
  "tool": "reducer-migrate",
  "findings": [
    {
      "path": "../src/k.py",
      "code": "RM103",
      "reducer": "acc",
      "line": "T.clear(acc)",
      "count": 2
    },
    {
      "path": "../src/k.py",
      "code": "RM104",
      "reducer": "acc",
      "line": "acc[0] += 1"
    }
  ]
}
"""
    )


def test_findings_that_moved_or_were_indented_stay_adopted(path):
    baseline = saved(path, finding("RM103", 2, text=TEXT))
    moved = "\n\n\nif x:\n\t T.clear( acc )".replace("( acc )", "(acc)")
    new, adopted = baseline.split([finding("RM103", 5, text=moved)])
    assert (new, [d.start.line for d in adopted]) == ((), [5])


@pytest.mark.parametrize(
    "other",
    [
        {"code": "RM104"},
        {"reducer": "best"},
        {"path": "other.py"},
        {"text": "a = 1\nT.fill(acc, 0)\n"},
    ],
)
def test_another_code_reducer_file_or_line_is_new(path, other):
    baseline = saved(path, finding("RM103", 2, text=TEXT))
    arguments = {"code": "RM103", "text": TEXT} | other
    new, adopted = baseline.split([finding(arguments.pop("code"), 2, **arguments)])
    assert (len(new), adopted) == (1, ())


def test_of_equal_findings_only_as_many_as_were_adopted_are(path):
    both = [finding("RM103", 2, text=TEXT), finding("RM103", 3, text=TEXT)]
    new, adopted = saved(path, both[0]).split(both)
    assert (new, adopted) == ((both[1],), (both[0],))
    assert saved(path, *both).split(both) == ((), tuple(both))


def test_trouble_with_a_file_is_never_adopted(path):
    trouble = finding("RM001", 2, text=TEXT)
    baseline = saved(path, trouble)
    assert json.loads(path.read_text())["findings"] == []
    assert baseline.split([trouble]) == ((trouble,), ())


def test_stale_entries_are_counted_for_the_files_that_were_checked(path):
    gone = finding("RM103", 2, path="src/k.py", text=TEXT)
    kept = finding("RM104", 4, path="src/k.py", text=TEXT)
    baseline = saved(path, gone, gone, kept)
    _, adopted = baseline.split([kept])
    assert baseline.stale(["src/k.py"], adopted) == 2
    assert baseline.stale(["src/other.py"], adopted) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the baseline: No such file or directory"),
        (b"{", "the baseline is no JSON: Expecting property name enclosed in double quotes"),
        (b"\xff", "the baseline is no JSON: 'utf-8' codec can't decode byte 0xff"),
        (b"[" * 100_000, "the baseline is no JSON: "),
        (b"[]", 'the baseline has no list "findings"'),
        (b'{"version": 1}', 'the baseline has no list "findings"'),
        (b'{"version": 2, "findings": []}', "the baseline has version 2, expected 1"),
        (b'{"version": 1, "findings": [3]}', "finding 1 of the baseline is no object"),
        (
            b'{"version": 1, "findings": [{"path": "a.py", "code": "RM103"}]}',
            'finding 1 of the baseline has no text "reducer"',
        ),
        (
            b'{"version": 1, "findings": [{"path": "a", "code": "c", "reducer": "r", "line": "l",'
            b' "count": -1}]}',
            "finding 1 of the baseline has the count -1",
        ),
    ],
)
def test_a_broken_baseline_says_what_is_wrong(path, content, message):
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BrokenBaselineError) as caught:
        Baseline.load(path)
    assert str(caught.value).startswith(message)

"""The examples of the RM2xx rules: what TIR shows of them raises, and the valid ones compile."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reducer_compat import ReducerError, simt
from reducer_compat.adapter import adapter
from reducer_migrate.engine import Options, analyse
from reducer_migrate.frontend import build
from reducer_migrate.source import Source
from reducer_rules import Rule
from reducer_rules.catalogue import rules
from reducer_rules.release import NATIVE_V2, Release
from reducer_rules.rule import Target
from reducer_rules.timeline import Event, Update
from tests.compat.share import dealt
from tests.rules.test_examples import module

#: Examples that the runtime takes, or of which nothing is left in TIR, and why.
NOT_IN_TIR = {
    "RM208-0": "the runtime opens one allocation again, after a finalize",
    "RM214-0": "TileLang refuses `acc[i]` on two axes itself, while it traces",
    "RM218-0": "the trace enters the function, so that its statements are the kernel's own",
    "RM218-1": "a Python list is no part of the kernel",
    "RM218-2": "the trace knows what the mapping holds",
    "RM218-3": "the annotations of a fill are hints to TileLang's own lowering",
    "RM219-0": "a second name is no part of the kernel: both name one buffer",
    "RM219-1": "a second name is no part of the kernel: both name one buffer",
    "RM220-0": "the name is bound again in Python, to the value that was read",
    "RM221-0": "the trace calls `decide`, so that its answer is known",
    "RM225-0": "a warning: it refuses nothing",
    "RM225-1": "a warning: it refuses nothing",
    "RM227-0": "the runtime opens one allocation again, after a finalize",
    "RM227-1": "the runtime opens one allocation again, after a finalize",
}
#: Examples that TIR shows as another mistake, because the trace resolved names and conditions.
SHOWN_AS = {
    "RM220-1": "RM207",
    "RM221-1": "RM207",
    "RM224-1": "RM207",
}
#: How TIR shows the rules whose own examples it does not, and on which line.
IN_TIR = {
    "RM214": """\
acc = T.alloc_reducer((4, 2), "float32")
result = T.alloc_fragment((4, 2), "float32")
T.reducer_init(acc)
for i in T.Parallel(4):
    T.reducer_update(acc, i, A[i])  # here
T.finalize_reducer(acc, result)
B[0] = result[0, 0]
""",
    "RM218": """\
acc = T.alloc_reducer((8,), "float32")
total = T.alloc_fragment((1,), "float32")
result = T.alloc_fragment((8,), "float32")
T.reducer_init(acc)
for i in T.Parallel(8):
    T.reducer_update(acc[i], A[i])
T.reduce_sum(acc, total, dim=0)  # here
T.finalize_reducer(acc, result)
T.copy(total, B)
""",
    "RM221": """\
flag = T.alloc_local((1,), "int32")
flag[0] = 1
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
if flag[0] > 0:
    T.finalize_reducer(acc)  # here
    B[0] = acc[0]
""",
}
#: Rules of which TIR shows nothing at all.
NEVER_IN_TIR = {"RM219", "RM220", "RM221", "RM225", "RM227"} - set(IN_TIR)


def semantic() -> list[Rule]:
    return [each for each in rules() if each.code.startswith("RM2")]


def examples(kind: str) -> dict[str, str]:
    return {
        f"{each.code}-{number}": example
        for each in semantic()
        for number, example in enumerate(getattr(each, kind))
    }


INVALID = examples("invalid")
SHOWN = {name: text for name, text in INVALID.items() if name not in NOT_IN_TIR}
SHOWN |= {f"{code}-tir": text for code, text in IN_TIR.items()}


#: Examples that iterate over Python values, which the trace takes from 0.1.15 on.
UNROLLING = frozenset({"RM227-0", "RM227-1"})


def traceable(name: str) -> bool:
    return adapter().release >= Release.parse("0.1.15") or name not in UNROLLING


def kernels(path: Path, example: str) -> list[Any]:
    """The kernels of an example, for each value of the parameter of its function, if it has one."""
    path.write_text(module(example), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    if hasattr(found, "kernel"):
        return [found.kernel]
    values = ("sum", "max") if "op=op" in example else (False, True)
    return [found.make(value) for value in values]


def lower(path: Path, example: str) -> None:
    for kernel in kernels(path, example):
        simt.lower(kernel)


def refused(path: Path, example: str) -> ReducerError:
    with pytest.raises(ReducerError) as caught:
        lower(path, example)
    return caught.value


def lines(example: str, code: str) -> set[int]:
    """Where the linter finds a rule in an example, or where the example says so."""
    marked = [n for n, line in enumerate(module(example).splitlines(), 1) if "# here" in line]
    if marked:
        return set(marked)
    found = analyse(Source.of(module(example)), Options()).diagnostics
    return {each.start.line for each in found if each.code == code}


@pytest.mark.parametrize("name", filter(traceable, SHOWN))
def test_what_tir_shows_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    error = refused(path, SHOWN[name])
    assert error.code == SHOWN_AS.get(name, name.split("-")[0])
    assert error.fix
    file, _, line = error.location.rpartition(":")
    assert file == str(path)
    if error.code == name.split("-")[0]:
        assert int(line) in lines(SHOWN[name], error.code)


@pytest.mark.parametrize("name", ["RM208-0", "RM227-0", "RM227-1"])
def test_several_epochs_of_one_allocation_compile(name: str, tmp_path: Path) -> None:
    if traceable(name):
        lower(tmp_path / "example.py", INVALID[name])


@pytest.mark.parametrize("name", dealt(filter(traceable, examples("valid")), hands=3))
def test_a_valid_example_compiles(name: str, tmp_path: Path) -> None:
    lower(tmp_path / "example.py", examples("valid")[name])


@pytest.mark.parametrize("each", semantic(), ids=lambda each: str(each.code))
def test_no_rule_asks_for_the_text_of_a_contribution(each: Rule) -> None:
    """`collect` leaves it out."""
    target = Target(release=NATIVE_V2, compat=True)
    found = []
    for example in each.invalid:
        text = module(example)
        for reducer in build(Source.of(text), ast.parse(text)).reducers:
            timeline = reducer.timeline
            events = tuple(map(_without_text, timeline.events))
            found += each.check(timeline, target)
            assert list(each.check(replace(timeline, events=events), target)) == list(
                each.check(timeline, target)
            )
    assert found


def _without_text(event: Event) -> Event:
    return replace(event, contribution="") if isinstance(event, Update) else event


def test_every_rule_is_shown_or_said_why_not() -> None:
    shown = {name.split("-")[0] for name in SHOWN if name not in SHOWN_AS}
    assert shown | NEVER_IN_TIR == {each.code for each in semantic()}
    assert not shown & NEVER_IN_TIR
    assert set(NOT_IN_TIR) | set(SHOWN_AS) <= set(INVALID)

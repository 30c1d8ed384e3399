"""What is read from a file without running it: kernels, arguments, and what v1 will count."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from reducer_migrate.source import Source
from reducer_migrate.verify.arguments import ArgumentFinder
from reducer_migrate.verify.kernels import Kernel, kernels_of
from reducer_migrate.verify.literals import UnknownValueError, parse_arguments, value_of
from reducer_migrate.verify.prediction import predict
from reducer_rules import Release

KERNEL = """\
def {name}({parameters}):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), "float32", op="{op}", replication="all")
            T.clear(acc)
            for i in T.Parallel(n):
                acc[0] += A[i]
            T.finalize_reducer(acc)
            T.copy(acc, B)
    return main
"""


def _kernels(text: str) -> tuple[Kernel, ...]:
    return kernels_of(Source.of(text), ast.parse(text))


def _factory(parameters: str, name: str = "build", op: str = "sum") -> str:
    return KERNEL.format(parameters=parameters, name=name, op=op)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 << 10", 1024),
        ("-2 * 3 + 10 // 4", -4),
        ("(16, 128)", [16, 128]),
        ("'float16'", "float16"),
        ("True", True),
        ("None", None),
        ("T.float16", {"$dtype": "float16"}),
        ("torch.bfloat16", {"$dtype": "bfloat16"}),
        ("M * 2", 128),
    ],
)
def test_values_that_a_file_states(text: str, value: object) -> None:
    assert value_of(ast.parse(text, mode="eval").body, {"M": 64}) == value


@pytest.mark.parametrize("text", ["f(1)", "N", "1 // 0", "2 ** 10 ** 9", "os.environ", "b'x'"])
def test_values_that_no_file_states(text: str) -> None:
    with pytest.raises(UnknownValueError):
        value_of(ast.parse(text, mode="eval").body, {})


def test_arguments_are_read_as_a_call_writes_them() -> None:
    found = parse_arguments("M=1024, tile=(16, 128), dtype=float16, eps=1e-6, name='x, y'")
    assert found == {
        "M": 1024,
        "tile": [16, 128],
        "dtype": "float16",
        "eps": 1e-6,
        "name": "x, y",
    }


def _arguments(text: str, **given: Any) -> dict[str, Any]:
    """The arguments of the first kernel, and None for those that are missing."""
    finder = ArgumentFinder(ast.parse(text))
    found = finder.of(_kernels(text)[0], {name: (value, "") for name, value in given.items()})
    return {**dict.fromkeys(found.missing), **found.values}


def test_what_is_given_goes_before_a_call_a_default_and_a_constant() -> None:
    text = "n, threads = 1, 2\n" + _factory("n, threads=3")
    assert _arguments(text) == {"n": 1, "threads": 3}
    assert _arguments(f"{text}\nbuild(8, threads=64)") == {"n": 8, "threads": 64}
    assert _arguments(f"{text}\nbuild(8, threads=64)", n=16) == {"n": 16, "threads": 64}


@pytest.mark.parametrize(
    "call",
    [
        "build(8, 32)",
        "build.compile(n=8, threads=32)",
        "def main():\n    size = 4 * 2\n    print(build(size, threads=32)(torch.ones(8)))",
        "def test(a=1):\n    n, threads = 8, 32\n    assert build(n, threads)",
        "if __name__ == '__main__':\n    kernel = build(8, 32)",
        """
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--block-threads", type=int, default=32)
    args, _ = parser.parse_known_args()
    build(args.n, args.block_threads)
""",
    ],
)
def test_a_call_in_the_file_states_the_arguments(call: str) -> None:
    assert _arguments(f"{_factory('n, threads')}\n{call}") == {"n": 8, "threads": 32}


def test_a_call_that_states_nothing_leaves_them_missing() -> None:
    text = f"{_factory('n, threads')}\nbuild(*sizes, threads=pick())"
    assert _arguments(text) == {"n": None, "threads": None}


def test_the_language_may_be_a_parameter() -> None:
    assert _arguments(_factory("T, n=8, threads=8"))["T"] == {"$language": True}


def test_kernels_are_found_once_each_and_in_order() -> None:
    text = "\n".join([_factory("n", "first"), "def other(): pass", _factory("n", "second")])
    guarded = f"try:\n    import x\nexcept ImportError:\n    x = None\nif True:\n{_indented(text)}"
    assert [kernel.name for kernel in _kernels(text)] == ["first", "second"]
    assert [kernel.name for kernel in _kernels(guarded)] == ["first", "second"]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


MACRO = """\
@T.macro
def add_up(A, B, n):
    acc = T.alloc_reducer((1,), "float32", replication="all")
    T.clear(acc)
    for i in T.Parallel(n):
        acc[0] += A[i]
    T.finalize_reducer(acc)
    T.copy(acc, B)
"""


def test_a_macro_counts_for_the_kernels_that_call_it() -> None:
    caller = "@T.prim_func\ndef main(A, B):\n    with T.Kernel(1):\n        add_up(A, B, 8)\n"
    assert [kernel.name for kernel in _kernels(MACRO + caller)] == ["main"]
    (alone,) = _kernels(MACRO)
    assert alone.problem == "it is a macro, and no kernel of the file calls it"


def test_a_kernel_answers_to_its_name_and_to_those_inside() -> None:
    (kernel,) = _kernels(_factory("n"))
    assert kernel.answers_to("build")
    assert kernel.answers_to("main")
    assert not kernel.answers_to("mai")


@pytest.mark.parametrize(
    ("arguments", "op", "release", "predicted"),
    [
        ({"n": 8, "threads": 128}, "sum", "0.1.13", "16x"),
        ({"n": 64, "threads": 128}, "sum", "0.1.8", "2x"),
        ({"n": 128, "threads": 128}, "sum", "0.1.13", "1x"),
        ({"n": 8, "threads": 128}, "max", "0.1.13", "1x"),
        ({"n": 8, "threads": 128}, "sum", "0.1.15", "1x"),
        ({"n": 192, "threads": 128}, "sum", "0.1.13", "RM305"),
        ({"n": 96, "threads": 96}, "sum", "0.1.13", "RM304"),
        ({"threads": 128}, "sum", "0.1.13", "?"),
    ],
)
def test_the_rules_predict_for_the_arguments_that_are_used(
    arguments: dict[str, int], op: str, release: str, predicted: str
) -> None:
    text = _factory("n, threads=32", op=op)
    (kernel,) = _kernels(text)
    found = predict(ast.parse(text), kernel, arguments, Release.parse(release), "sm_75")
    assert found == predicted


def test_the_sizes_of_an_eager_kernel_are_arguments_too() -> None:
    text = """\
@tilelang.jit
def total(A, threads=128):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((1,), "float32")
    with T.Kernel(1, threads=threads):
        acc = T.alloc_reducer((1,), "float32", replication="all")
        T.clear(acc)
        for i in T.Parallel(n):
            acc[0] += A[i]
        T.finalize_reducer(acc)
        T.copy(acc, B)
    return B
"""
    assert _arguments(text) == {"n": None, "threads": 128}
    (kernel,) = _kernels(text)
    arguments = {"n": 8, "threads": 64}
    found = predict(ast.parse(text), kernel, arguments, Release.parse("0.1.13"), "sm_75")
    assert found == "8x"


def test_a_warp_specialized_pipeline_is_predicted_where_it_is_run() -> None:
    text = _factory("n=128, threads=128").replace(
        "            for i in T.Parallel(n):\n                acc[0] += A[i]\n",
        "            for k in T.Pipelined(4, num_stages=2):\n"
        "                for i in T.Parallel(n):\n                    acc[0] += A[i]\n",
    )
    (kernel,) = _kernels(text)
    tree, release = ast.parse(text), Release.parse("0.1.13")
    arguments = {"n": 128, "threads": 128}
    assert predict(tree, kernel, arguments, release, "sm_75") == "1x"
    assert predict(tree, kernel, arguments, release, "sm_90") == "RM303"

"""What a rewrite leaves alone: every byte outside the statements it rewrites."""

from __future__ import annotations

import pytest

from reducer_migrate.engine import Options, analyse
from reducer_migrate.rewriting import rewrite
from reducer_migrate.source import Source
from reducer_rules import Release, Target
from reducer_rules.timeline import Dialect

V1 = """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32", op="sum", replication="all")
        T.clear(acc)
        for i in T.Parallel(8):
            acc[0] += A[i]  # \N{GREEK SMALL LETTER ALPHA}
        T.finalize_reducer(acc)
        B[0] = acc[0]
"""
V2 = """\
import tilelang.language as T


@T.prim_func
def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=128):
        acc = T.alloc_reducer((1,), "float32", op="sum")
        acc_result = T.alloc_fragment((1,), "float32")
        T.reducer_init(acc)
        for i in T.Parallel(8):
            T.reducer_update(acc[0], A[i])  # \N{GREEK SMALL LETTER ALPHA}
        T.finalize_reducer(acc, acc_result)
        B[0] = acc_result[0]
"""


def migrate(raw: bytes, options: Options | None = None) -> bytes:
    """`raw` rewritten, and checked to stay as it is when rewritten again."""
    once = _once(raw, options or Options())
    assert _once(once, options or Options()) == once
    return once


def _once(raw: bytes, options: Options) -> bytes:
    source = Source.read("kernel.py", raw)
    return source.encode(rewrite(source, analyse(source, options), options).text)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("final", [True, False])
def test_line_ends_and_marks(newline: str, bom: bytes, final: bool) -> None:
    def variant(text: str) -> bytes:
        text = text if final else text.removesuffix("\n")
        return bom + text.replace("\n", newline).encode()

    assert migrate(variant(V1)) == variant(V2)


def test_mixed_line_ends_keep_each_line() -> None:
    lines = V1.encode().split(b"\n")
    mixed = b"".join(
        line + (b"\r\n" if number % 2 else b"\n") for number, line in enumerate(lines[:-1])
    )
    after = migrate(mixed)

    assert after.replace(b"\r\n", b"\n") == V2.encode()
    kept = [line for line in mixed.splitlines(keepends=True) if b"acc" not in line]
    assert [line for line in after.splitlines(keepends=True) if b"acc" not in line] == kept


@pytest.mark.parametrize("encoding", ["iso-8859-7", "utf-8", "utf-16-le"])
def test_encodings(encoding: str) -> None:
    cookie = f"# -*- coding: {encoding} -*-\n"
    if encoding == "utf-16-le":
        with pytest.raises(ValueError, match=r"\w"):
            migrate((cookie + V1).encode(encoding))
    else:
        assert migrate((cookie + V1).encode(encoding)) == (cookie + V2).encode(encoding)


def test_form_feeds_stay() -> None:
    before = V1.replace("@T.prim_func", "\f@T.prim_func").replace(
        "        T.clear", "\f        T.clear"
    )
    got = migrate(before.encode()).decode()

    assert got.replace("\f", "") == V2
    assert "\f@T.prim_func" in got
    assert got.count("\f") == before.count("\f")


def test_a_fragment_indented_as_a_whole() -> None:
    before = "".join(V1.splitlines(keepends=True)[6:])
    after = "".join(V2.splitlines(keepends=True)[6:])

    assert migrate(before.encode()) == after.encode()


def test_a_fragment_after_a_blank_line() -> None:
    before = "\n" + "".join(V1.splitlines(keepends=True)[6:])
    after = "\n" + "".join(V2.splitlines(keepends=True)[6:])

    assert migrate(before.encode()) == after.encode()


def test_an_older_release_is_refused_once_and_keeps_its_bytes() -> None:
    options = Options(target=Target(Release.parse("0.1.13")))
    source = Source.of(V1 + V1.replace("kernel", "other"))
    result = rewrite(source, analyse(source, options), options)

    assert result.text == source.text
    refusals = [d for d in result.remaining if d.code == "RM005"]
    assert [(d.start.line, d.start.column, d.severity.value) for d in refusals] == [
        (7, 15, "error")
    ]


def test_with_compat_adds_the_import_once_and_only_where_it_rewrites() -> None:
    options = Options(target=Target(Release.parse("0.1.13")), add_import=True)
    expected = V2.replace("as T\n", "as T\nimport reducer_compat\n", 1)

    assert migrate(V1.encode(), options) == expected.encode()
    assert migrate(V2.encode(), options) == V2.encode()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('"""Doc."""\n', '"""Doc."""\nimport reducer_compat\n'),
        (
            "#!/usr/bin/env python\n# coding: utf-8\n",
            "#!/usr/bin/env python\n# coding: utf-8\nimport reducer_compat\n",
        ),
        (
            '"""Doc."""\n\nfrom __future__ import annotations\n\nimport a\n',
            '"""Doc."""\n\nfrom __future__ import annotations\n\nimport a\nimport reducer_compat\n',
        ),
    ],
)
def test_where_the_import_goes(head: str, expected: str) -> None:
    options = Options(add_import=True)
    body = V1.replace("import tilelang.language as T\n\n\n", "")
    after = V2.replace("import tilelang.language as T\n\n\n", "")

    assert migrate((head + body).encode(), options) == (expected + after).encode()


def test_between_the_dialects_of_v2() -> None:
    rfc, shipped = (
        Options(target=Target(dialect=dialect)) for dialect in (Dialect.RFC, Dialect.SHIPPED)
    )
    converted = migrate(V2.encode(), rfc)

    assert b"T.reducer_update(acc, 0, A[i])" in converted
    assert b"T.reducer_init" not in converted
    assert migrate(converted) == converted
    back = migrate(converted, shipped).decode()
    assert sorted(back.splitlines()) == sorted(V2.splitlines())


def test_a_result_name_that_is_taken_gives_way() -> None:
    taken = V1.replace("        T.clear", "        acc_result = 1\n        T.clear")

    assert "acc_result_2 = T.alloc_fragment" in migrate(taken.encode()).decode()

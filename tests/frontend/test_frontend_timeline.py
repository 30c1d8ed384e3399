"""What the front end sees of a reducer: its events, in order, with their context."""

from __future__ import annotations

import pytest
from frontend_cases import EPOCH, HEAD, events, kernel, timeline, unit

from reducer_rules import Op
from reducer_rules.timeline import (
    Alloc,
    Branch,
    Condition,
    Dialect,
    Escape,
    EscapeKind,
    Finalize,
    Init,
    InitForm,
    Load,
    LoadForm,
    Loop,
    LoopKind,
    Operands,
    Store,
    Update,
    UpdateForm,
)


def test_an_epoch_in_order() -> None:
    line = timeline(EPOCH + "T.finalize_reducer(acc)\nB[0] = acc[0]\nT.copy(acc, B)\n")

    assert [type(event) for event in line.events] == [Alloc, Init, Update, Finalize, Load, Load]
    assert (line.name, line.op, line.shape, line.dtype) == ("acc", Op.SUM, (1,), "float32")
    assert line.kernel.threads == 128
    assert line.dialects() == {Dialect.V1}
    assert [event.form for event in line.of(Load)] == [LoadForm.ELEMENT, LoadForm.WHOLE]


def test_the_context_of_an_update() -> None:
    body = """\
    acc = T.alloc_reducer((4, 2), dtype, op="max", replication="all")
    T.clear(acc)
    for k in T.Pipelined(n, num_stages=3):
        for i, j in T.Parallel(4, 2):
            if i > j:
                acc[i, j] = T.max(A[i], acc[i, j])
    T.finalize_reducer(acc)
    """
    (update,) = timeline(body).updates
    pipelined, parallel, branch = update.context

    assert isinstance(pipelined, Loop)
    assert (pipelined.kind, pipelined.extents, pipelined.stages) == (
        LoopKind.PIPELINED,
        (None,),
        3,
    )
    assert isinstance(parallel, Loop)
    assert (parallel.kind, parallel.variables, parallel.extents) == (
        LoopKind.PARALLEL,
        ("i", "j"),
        (4, 2),
    )
    assert isinstance(branch, Branch)
    assert (branch.arm, branch.condition, branch.text) == (0, Condition.THREAD, "i > j")
    assert update.form is UpdateForm.COMBINE
    assert update.combine is Op.MAX
    assert update.contribution_dtype == "float32"
    assert [index.variable for index in update.indices] == ["i", "j"]


@pytest.mark.parametrize(
    ("store", "form", "combine"),
    [
        ("acc[0] += A[i]", UpdateForm.AUGMENTED, Op.SUM),
        ("acc[0] -= A[i]", UpdateForm.SUBTRACT, Op.SUM),
        ("acc[0] = acc[0] + A[i]", UpdateForm.COMBINE, Op.SUM),
        ("acc[0] = A[i] + acc[0]", UpdateForm.COMBINE, Op.SUM),
        ("acc[0] = acc[0] + A[i] - A[7 - i]", UpdateForm.COMBINE, Op.SUM),
        ("acc[0] = A[i] + (acc[0] + A[7 - i])", UpdateForm.COMBINE, Op.SUM),
        ("acc[0] = acc[0] - A[i] + A[7 - i]", UpdateForm.SUBTRACT, Op.SUM),
        ("acc[ 0 ] = T.max(acc[0], A[i])", UpdateForm.COMBINE, Op.MAX),
        ("acc[0] = min(A[i], acc[0])", UpdateForm.COMBINE, Op.MIN),
        ("acc[0] = T.max(T.max(A[i], acc[0]), 0)", UpdateForm.COMBINE, Op.MAX),
        ("T.reducer_update(acc[0], A[i])", UpdateForm.SHIPPED, None),
        ("T.reducer_update(acc, 0, A[i])", UpdateForm.RFC, None),
        ("T.reducer_update(acc, (0,), value=A[i])", UpdateForm.RFC, None),
    ],
)
def test_forms_of_updates(store: str, form: UpdateForm, combine: Op | None) -> None:
    head = 'acc = T.alloc_reducer((1,), "float32", op)\nT.clear(acc)\nfor i in T.Parallel(8):\n'
    (update,) = timeline(head + f"    {store}\n").updates

    assert (update.form, update.combine) == (form, combine)
    assert [index.value for index in update.indices] == [0]


@pytest.mark.parametrize(
    "store",
    [
        "acc[0] = A[i]",
        "acc[0] *= A[i]",
        "acc[0] = A[i] - acc[0]",
        "acc[0] = acc[0] * A[i]",
        "acc[0] = T.max(acc[0], A[i], 0)",
        "acc[0] = acc[1] + A[i]",
        "acc[0:1] += A[i]",
        "T.fill(acc[0:1], 0)",
        "T.copy(A, acc)",
        "T.reduce_sum(A, acc, clear=False)",
        "T.reduce(src=A, dst=acc, op='sum')",
        "acc[0], x = A[i], 1",
    ],
)
def test_what_is_no_update(store: str) -> None:
    head = 'acc = T.alloc_reducer((2,), "float32")\nT.clear(acc)\nfor i in T.Parallel(8):\n'
    line = timeline(head + f"    {store}\n")

    assert len(line.of(Store)) == 1
    assert not line.updates


def test_after_finalize_another_combine_is_an_ordinary_store() -> None:
    line = timeline(EPOCH + "T.finalize_reducer(acc)\nacc[0] = T.max(acc[0], 1)\nacc[0] *= 2\n")

    assert len(line.of(Store)) == 2
    assert len(line.updates) == 1


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("other = acc", EscapeKind.ALIAS),
        ("other = acc if flag else None", EscapeKind.ALIAS),
        ("both = [acc, A]", EscapeKind.CONTAINER),
        ("return acc", EscapeKind.RETURN),
        ("return acc, A", EscapeKind.RETURN),
        ("helper(acc)", EscapeKind.ARGUMENT),
        ("helper(x=acc)", EscapeKind.ARGUMENT),
        ("del acc", EscapeKind.DELETE),
        ("acc = A", EscapeKind.REBIND),
        ("for acc in T.serial(3): pass", EscapeKind.REBIND),
        ("acc.data", EscapeKind.ADDRESS),
        ("T.call_extern('f', T.address_of(acc[0]))", EscapeKind.ADDRESS),
        ("later = lambda: acc[0]", EscapeKind.CAPTURE),
        ("def later(): return acc[0]", EscapeKind.CAPTURE),
        ("def later():\n    acc[0]\n    def inner(acc): return acc", EscapeKind.CAPTURE),
        ("class Later:\n    x = acc[0]\n    acc = 1", EscapeKind.CAPTURE),
        ("later = lambda acc=acc: acc[0]", EscapeKind.ALIAS),
        ("def acc(): pass", EscapeKind.REBIND),
        ("class acc: pass", EscapeKind.REBIND),
        ("import acc", EscapeKind.REBIND),
        ("from m import x as acc", EscapeKind.REBIND),
        ("try: pass\nexcept E as acc: pass", EscapeKind.REBIND),
        ("match m:\n    case [acc, *_]: pass", EscapeKind.REBIND),
        ("match m:\n    case {'a': 1, **acc}: pass", EscapeKind.REBIND),
        ("A[0] = acc", EscapeKind.ALIAS),
        ("A[0] = acc + 1", EscapeKind.OPERAND),
        ("T.fill(*[acc, 0])", EscapeKind.UNPACKED),
        ("T.fill(acc, **kw)", EscapeKind.UNPACKED),
        ("T.clear(**{'buffer': acc})", EscapeKind.UNPACKED),
        ("T.finalize_reducer(acc, *rest)", EscapeKind.UNPACKED),
        ("T.reducer_init(acc, **kw)", EscapeKind.UNPACKED),
        ("T.fill(acc, 0, annotations={})", EscapeKind.PARAMETER),
    ],
)
def test_escapes(statement: str, kind: EscapeKind) -> None:
    line = timeline(EPOCH + statement + "\n")

    assert [event.kind for event in line.of(Escape)] == [kind]


@pytest.mark.parametrize(
    "statement",
    [
        "y = [acc[0] for acc in [A]]",
        "later = lambda acc: acc[0]",
        "def later(acc): return acc[0]",
        "def later():\n    acc = A\n    return [acc[0] for acc in [A]]",
    ],
)
def test_a_name_of_an_inner_scope_is_another_name(statement: str) -> None:
    assert events(EPOCH + statement + "\n") == ["Alloc", "Init", "Update"]


@pytest.mark.parametrize(
    "statement",
    [
        "y = [acc[0] for i in range(2)]",
        "y = [acc for acc in range(acc[0])]",
        "def later(x=acc[0]): pass",
        "later = lambda x=acc[0]: x",
        "@deco(acc[0])\ndef later(): pass",
        "class Later(base(acc[0])): pass",
        "match m:\n    case 1 if acc[0] > 0: pass",
    ],
)
def test_what_a_scope_evaluates_outside_itself_is_read(statement: str) -> None:
    assert events(EPOCH + statement + "\n") == ["Alloc", "Init", "Update", "Load"]


def test_an_allocation_to_a_name_of_another_scope_has_no_plain_name() -> None:
    (escape, *_) = timeline("global acc\n" + EPOCH).of(Escape)

    assert escape.kind is EscapeKind.TARGET


@pytest.mark.parametrize(
    "use", ["acc.shape[0]", "acc.dtype", "acc is None", "isinstance(1, int)", "f'{acc}'"]
)
def test_metadata_is_no_use(use: str) -> None:
    assert events(EPOCH + f"x = {use}\n") == ["Alloc", "Init", "Update"]


@pytest.mark.parametrize(
    ("binding", "name"),
    [
        ("self.acc = {}", "self.acc"),
        ("a, b = {}, 1", "T.alloc_reducer(...)"),
        ("accs = [{}]", "T.alloc_reducer(...)"),
        ("a = b = {}", "a"),
        ("use({})", "T.alloc_reducer(...)"),
        ("return {}", "T.alloc_reducer(...)"),
        ("(acc := {})", "acc"),
    ],
)
def test_a_reducer_without_a_plain_name(binding: str, name: str) -> None:
    call = 'T.alloc_reducer((1,), "float32", replication="all")'
    line = timeline(binding.format(call) + "\n")

    (escape,) = line.of(Escape)
    assert (escape.kind, escape.detail) == (EscapeKind.TARGET, "")
    assert line.name == name


@pytest.mark.parametrize("arguments", ["*shape_and_dtype", "(1,), **options"])
def test_an_allocation_whose_arguments_are_not_spelled_out(arguments: str) -> None:
    line = timeline(f"acc = T.alloc_reducer({arguments})\n")

    (escape,) = line.of(Escape)
    assert (line.name, escape.kind, escape.detail) == (
        "acc",
        EscapeKind.UNPACKED,
        "T.alloc_reducer",
    )


@pytest.mark.parametrize(
    "source",
    [
        "def alloc_reducer(n): ...\nacc = alloc_reducer(3)\n",
        "class L:\n    def f(self):\n        return self.alloc_reducer(3)\n",
        '"""T.alloc_reducer((1,), "float32")"""\n',
        "name = 'alloc_reducer('\n",
    ],
)
def test_what_only_looks_like_an_allocation(source: str) -> None:
    assert unit(source).reducers == ()


def test_one_name_allocated_in_both_arms_is_one_reducer() -> None:
    body = """\
    if flag:
        acc = T.alloc_reducer((1,), "float32", "sum")
    else:
        acc = T.alloc_reducer((1,), "float32", "max")
    T.clear(acc)
    """
    line = timeline(body)

    assert len(line.allocs) == 2
    assert line.op is None


def test_one_name_allocated_twice_in_a_row_is_two_reducers() -> None:
    epoch = EPOCH + "T.finalize_reducer(acc)\n"
    first, second = unit(kernel(epoch + epoch)).reducers

    assert [len(r.timeline.events) for r in (first, second)] == [4, 4]


@pytest.mark.parametrize(
    ("loop", "kind", "extents"),
    [
        ("T.serial(4)", LoopKind.SERIAL, (4,)),
        ("range(2, 6)", LoopKind.SERIAL, (4,)),
        ("range(m)", LoopKind.SERIAL, (None,)),
        ("T.unroll(3)", LoopKind.UNROLL, (3,)),
        ("T.Persistent([4], 1, bx)", LoopKind.PERSISTENT, (None,)),
        ("T.Parallel(T.ceildiv(9, 4))", LoopKind.PARALLEL, (3,)),
        ("T.vectorized(4)", LoopKind.VECTORIZED, (4,)),
        ("[1, 2]", LoopKind.TRACE, ()),
        ("enumerate(n)", LoopKind.TRACE, (None,)),
        ("n", LoopKind.TRACE, ()),
        ("mystery(bx)", LoopKind.UNKNOWN, (None,)),
    ],
)
def test_loops(loop: str, kind: LoopKind, extents: tuple[int | None, ...]) -> None:
    head = 'acc = T.alloc_reducer((1,), "float32")\n'
    (init,) = timeline(head + f"for x in {loop}:\n    T.clear(acc)\n").inits

    assert [(frame.kind, frame.extents) for frame in init.loops] == [(kind, extents)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("flag", Condition.COMPILE_TIME),
        ('op == "sum" and n > 4', Condition.COMPILE_TIME),
        ("len(dtype) > 3", Condition.COMPILE_TIME),
        ("A is None", Condition.COMPILE_TIME),
        ("local_flag", Condition.COMPILE_TIME),
        ("m > 3", Condition.UNIFORM),
        ("bx == 0", Condition.UNIFORM),
        ("A[bx] < 0", Condition.UNIFORM),
        ("local_uniform", Condition.UNIFORM),
        ("T.get_block_binding() == 0", Condition.UNIFORM),
        ("tx == 0", Condition.THREAD),
        ("T.get_thread_binding() < 32", Condition.THREAD),
        ("A[tx] > 0", Condition.THREAD),
        ("mystery(bx)", Condition.UNKNOWN),
        ("per_thread[0] > 0", Condition.UNKNOWN),
    ],
)
def test_conditions(condition: str, expected: Condition) -> None:
    body = f"""\
    tx = T.get_thread_binding()
    per_thread = T.alloc_local((1,), "float32")
    local_flag = n > 3
    local_uniform = m + 1 > bx
    acc = T.alloc_reducer((1,), "float32")
    if {condition}:
        T.clear(acc)
    """
    (init,) = timeline(body).inits

    assert [branch.condition for branch in init.branches] == [expected]


def test_a_condition_of_a_fragment_without_a_function_is_unknown() -> None:
    (reducer,) = unit(
        'acc = T.alloc_reducer((1,), "float32")\nif flag:\n    T.clear(acc)\n'
    ).reducers
    (init,) = reducer.timeline.inits

    assert [branch.condition for branch in init.branches] == [Condition.UNKNOWN]


def test_equal_compile_time_conditions_share_an_ident() -> None:
    body = """\
    acc = T.alloc_reducer((1,), "float32")
    if flag:
        T.clear(acc)
    if flag:
        T.finalize_reducer(acc)
    if m > 0:
        T.copy(acc, B)
    """
    line = timeline(body)
    first, second = line.inits[0].branches[0], line.finalizes[0].branches[0]

    assert first.ident == second.ident
    assert line.of(Load)[0].branches[0].ident != first.ident


@pytest.mark.parametrize(
    ("call", "destination", "batch"),
    [
        ("T.finalize_reducer(acc)", None, None),
        ("T.finalize_reducer(acc, batch=4)", None, (4, False)),
        ("T.finalize_reducer(acc, 4)", None, (4, True)),
        ("T.finalize_reducer(acc, n)", None, (None, True)),
        ("T.finalize_reducer(acc, out)", "out", None),
        ("T.finalize_reducer(acc, dst=out, batch=2)", "out", (2, False)),
    ],
)
def test_finalizes(call: str, destination: str | None, batch: tuple[object, bool] | None) -> None:
    body = EPOCH + f'out = T.alloc_fragment((1,), "float32")\n{call}\n'
    (finalize,) = timeline(body).finalizes

    assert finalize.destination == destination
    got = None if finalize.batch is None else (finalize.batch.value, finalize.batch.positional)
    assert got == batch


@pytest.mark.parametrize(
    ("destination", "starts"),
    [
        ("out", []),
        ("out[8:16]", [8]),
        ("out[:8]", [0]),
        ("out[:, 2 * 4 : n]", [0, 8]),
        ("out[n:, 0]", [None, 0]),
        ("out[bx * 8]", [None]),
    ],
)
def test_where_a_destination_starts(destination: str, starts: list[int | None]) -> None:
    body = (
        f"out = T.alloc_fragment((24, 24), dtype)\n{EPOCH}T.finalize_reducer(acc, {destination})\n"
    )
    (finalize,) = timeline(body).finalizes
    assert [start.value for start in finalize.destination_start] == starts


@pytest.mark.parametrize(
    ("statements", "kinds"),
    [
        ("total = acc\nT.copy(total, B)\n", ["Load"]),
        ("total = again = acc\nT.copy(total, B)\n", ["Load"]),
        ("total: T.Buffer = acc\n", ["Load"]),
        ("total = acc\ntotal = A\n", ["Escape"]),
        ("total = acc\nT.clear(total)\n", ["Escape"]),
        ("total = acc\nT.finalize_reducer(reducer=total)\n", ["Escape"]),
        ("nonlocal total\ntotal = acc\n", ["Escape"]),
        ("self.total = acc\n", ["Escape"]),
        ("total = acc if flag else A\n", ["Escape"]),
    ],
)
def test_a_name_for_a_finalized_reducer_is_one_for_its_result(
    statements: str, kinds: list[str]
) -> None:
    assert events(EPOCH + "T.finalize_reducer(acc)\n" + statements)[4:] == kinds


def test_a_match_is_the_conditionals_that_it_stands_for() -> None:
    body = """\
    acc = T.alloc_reducer((1,), "float32")
    match op:
        case "sum" | "mean":
            T.clear(acc)
        case "max" if flag:
            T.fill(acc, 1)
        case _:
            T.fill(acc, 2)
    T.fill(acc, 3)
    """
    first, second, third, after = timeline(body).inits

    texts = ["match op: case 'sum' | 'mean'", "match op: case 'max' if flag"]
    assert [(branch.text, branch.arm) for branch in first.branches] == [(texts[0], 0)]
    assert [(branch.text, branch.arm) for branch in second.branches] == [
        (texts[0], 1),
        (texts[1], 0),
    ]
    assert [(branch.text, branch.arm) for branch in third.branches] == [
        (texts[0], 1),
        (texts[1], 1),
    ]
    assert after.branches == ()
    assert {branch.condition for branch in third.branches} == {Condition.COMPILE_TIME}


def test_forms_of_inits() -> None:
    inits = timeline(
        'acc = T.alloc_reducer((1,), "float32", "max")\n'
        "T.clear(acc)\nT.fill(acc, -T.infinity(dtype))\n"
        "T.fill(buffer=acc, value=T.min_value('int8'))\n"
        "T.reducer_init(acc, 2)\n"
    ).inits

    assert [init.form for init in inits] == [
        InitForm.CLEAR,
        InitForm.FILL,
        InitForm.FILL,
        InitForm.REDUCER_INIT,
    ]
    fills = [init.fill for init in inits]
    assert fills[0] is None
    assert fills[1] is not None
    assert fills[1].number == float("-inf")
    assert fills[2] is not None
    assert (fills[2].limit, fills[2].dtype) == ("lowest", "int8")
    assert fills[3] is not None
    assert fills[3].number == 2


def test_imports_of_the_runtime_are_seen() -> None:
    assert unit("import reducer_compat\n").imports_compat
    assert unit("def f():\n    from reducer_compat import status\n").imports_compat
    assert not unit("# import reducer_compat\n").imports_compat


@pytest.mark.parametrize(
    ("launch", "threads"),
    [
        ("1, threads=256", 256),
        ("1", 128),
        ("1, threads=(32, 4)", 128),
        ("1, threads=2 * 32", 64),
        ("1, threads=n", None),
        ("1, threads=(32, n)", None),
        ("1, **options", None),
    ],
)
def test_threads(launch: str, threads: int | None) -> None:
    line = timeline(EPOCH, HEAD.replace("1, threads=128", launch))

    assert line.kernel.threads == threads


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        ('@tilelang.jit(pass_configs={"tl.disable_warp_specialized": True})', False),
        (
            "@tl.jit(-1, pass_configs={tl.PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: True})",
            False,
        ),
        ("@tl.jit(pass_configs=CONFIGS)", False),
        ('@tl.jit(pass_configs={"tl.disable_warp_specialized": False})', None),
        ("@tl.jit(pass_configs=unknown)", None),
        ("@tl.jit", None),
    ],
)
def test_warp_specialization(decorator: str, expected: bool | None) -> None:
    configs = 'CONFIGS = {"tl.disable_warp_specialized": True}\n'
    head = HEAD.replace("def factory", f"{decorator}\ndef factory")

    assert timeline(EPOCH, configs + head).kernel.warp_specialized is expected


@pytest.mark.parametrize(
    ("operand", "use", "expected"),
    [
        ("A[i]", "", Operands.MEMORY),
        ("S[i]", "", Operands.MEMORY),
        ("F[i]", "", Operands.ELEMENTWISE),
        ("F[i]", "T.copy(A, F)", Operands.ELEMENTWISE),
        ("F[i]", "T.reduce_max(F, G, dim=0)", Operands.COLLECTIVE),
        ("F[i]", "T.gemm(S, S, G)", Operands.COLLECTIVE),
        ("F[i]", "for j, k in T.Parallel(8, 8):\n    A[j] = F[j]", Operands.COLLECTIVE),
        ("F[i]", "for j in T.Parallel(8):\n    A[j] = F[j] + G[0]", Operands.ELEMENTWISE),
        ("mystery[i]", "", None),
    ],
)
def test_operands_of_the_loop(operand: str, use: str, expected: Operands | None) -> None:
    body = (
        'F = T.alloc_fragment((8,), "float32")\nG = T.alloc_fragment((8,), "float32")\n'
        f'S = T.alloc_shared((8,), "float32")\n{use}\n' + EPOCH.replace("A[i]", operand)
    )
    (update,) = timeline(body).updates

    assert update.operands is expected


def test_a_loop_without_stages_is_not_pipelined() -> None:
    body = (
        'acc = T.alloc_reducer((1,), "float32")\nfor k in T.Pipelined(4):\n    T.clear(acc)\n'
        "    for j in T.Pipelined(4, num_stages=n):\n        T.clear(acc)\n"
    )
    outer, inner = timeline(body).inits[-1].loops

    assert (outer.stages, inner.stages) == (0, None)

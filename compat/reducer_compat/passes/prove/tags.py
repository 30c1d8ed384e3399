"""Names that contributions and finalizes carry through TileLang, for the counter to find them.

    update(acc, v, i)      ->  update(acc, contribution(v, 0, i, j), i)
    init(acc, seed)        ->  init(acc, contribution(seed, 1))
    finalize(acc, dst)     ->  attr "reducer_compat.finalize" = finalize(0): finalize(acc, dst)

A `contribution` is a pure call around the value: the number of the statement, and the variables
of all loops around it. Whatever a pass does to those variables it does to the value as well, so
wherever the value ends up, the call says which dynamic update it is. `strip` takes both away
before TileLang generates code, and nothing of them is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from reducer_compat import marker, tree
from reducer_compat.adapter import adapter
from reducer_compat.passes.prove.mirror import mirror
from reducer_rules.monoid import Op, identity

CONTRIBUTION = "reducer_compat.contribution"
FINALIZE = "reducer_compat.finalize"


class Tag(NamedTuple):
    """A name read back from TIR.

    Attributes:
        number: of the statement, in the source.
        ids: the loop variables around it, as they are by now.
        place: tells the places apart that a pass copied one statement to.
    """

    number: int
    ids: tuple[Any, ...]
    place: int


def tag(func: Any) -> Any:
    """The kernel with every update, seed and finalize named."""
    return tree.rewritten(func, _Tagger().enter)


def contribution(expr: Any) -> Tag | None:
    """The name that an expression is, or None."""
    if expr.type != "Call":
        return None
    if expr.tag is False:
        args = _extern(expr, CONTRIBUTION)
        expr.tag = None if args is None else Tag(args[2].value, args[3:], expr.key)
    found: Tag | None = expr.tag
    return found


def finalize(stmt: Any) -> Tag | None:
    """The name that an attribute gives to the finalize in its body, or None."""
    if stmt.type != "AttrStmt" or stmt.attr_key != FINALIZE:
        return None
    args = _extern(stmt.value, FINALIZE)
    if args is None:
        return None
    kept = tuple(arg for arg in args[2:] if arg.type != "BufferLoad")
    return Tag(args[1].value, kept, stmt.value.key)


def destination(stmt: Any) -> Any:
    """The data variable of the buffer that a named finalize writes."""
    loads = [arg for arg in stmt.value.args if arg.type == "BufferLoad"]
    return loads[0].buffer.data if loads else stmt.node


def pin() -> dict[type, tree.Enter]:
    """The rewriting to a kernel whose every finalize mentions its destination, so that
    `LowerTileOp` renames it there too.

    Not earlier: a destination that is read here would be laid out for it.
    """
    block, attribute = adapter().block, adapter().tir.AttrStmt
    buffers: dict[int, Any] = {}

    def allocated(stmt: Any, inside: Any) -> None:
        buffers.update({hash(one.data): one for one in tree.items(stmt.alloc_buffers)})

    def enter(stmt: Any, inside: Any) -> Any:
        if stmt.attr_key != FINALIZE:
            return None
        buffer = buffers.get(hash(stmt.node))
        if buffer is None:
            return None
        call = stmt.value
        args = [*tree.items(call.args), marker.origin(buffer)]
        value = adapter().tir.Call(call.dtype, call.op, args)
        return attribute(stmt.node, stmt.attr_key, value, inside(stmt.body))

    return {block: allocated, attribute: enter}


def strip(func: Any, named: frozenset[int] | None = None) -> Any:
    """The kernel without names.

    Args:
        named: the statements with named contributions, by their hashes, where they are known.
    """
    attribute = adapter().tir.AttrStmt

    def enter(stmt: Any) -> Any:
        if type(stmt) is attribute and stmt.attr_key == FINALIZE:
            return tree.transform(stmt.body, enter)
        return _bare(stmt) if named is not None and hash(stmt) in named else None

    body = _bare(func.body) if named is None else func.body
    return func.with_body(tree.transform(body, enter))


def _bare(stmt: Any) -> Any:
    """A statement without the names in its expressions."""
    pure = hash(adapter().op("call_pure_extern"))

    def unwrap(expr: Any) -> Any:
        if hash(expr.op) != pure:
            return None
        args = tree.items(expr.args)
        return args[1] if args[0].value == CONTRIBUTION else None

    return tree.replaced(stmt, unwrap, "Call")


def number_of(expr: Any) -> Any:
    """The value of a constant, as TileLang spells infinities and large unsigned integers too; None
    for anything else."""
    if expr.type in ("IntImm", "FloatImm"):
        return expr.value
    if expr.type == "Cast":
        return number_of(expr.value)
    if expr.type == "Call":
        return _called_number(expr)
    if expr.type in ("Mul", "Sub"):
        left, right = number_of(expr.a), number_of(expr.b)
        if left is None or right is None:
            return None
        return left * right if expr.type == "Mul" else left - right
    return None


def _called_number(call: Any) -> Any:
    """The value of a constant that is a call; a large integer is in halves, the low one first."""
    name = call.name
    if name.endswith("large_uint_imm"):
        return (int(call.args[1].value) << 32) | int(call.args[0].value)
    return float("inf") if name.endswith("infinity") else None


def is_identity(expr: Any, op: Op) -> bool:
    """Whether an expression is the constant that changes nothing in a reducer of `op`."""
    value, wanted = number_of(expr), identity(op, str(expr.dtype))
    return value is not None and wanted is not None and bool(value == wanted)


class _Tagger:
    """One walk that numbers statements in program order, and keeps the loops around them."""

    def __init__(self) -> None:
        self._loops: list[Any] = []
        self._ops: dict[int, Op] = {}
        self._contributions = 0
        self._finalizes = 0

    def enter(self, stmt: Any) -> Any:
        if type(stmt) is adapter().tir.For:
            before = stmt.body
            self._loops.append(stmt.loop_var)
            body = tree.transform(before, self.enter)
            self._loops.pop()
            return stmt if body is before else adapter().for_loop(stmt, body=body)
        found = marker.read(stmt)
        if found is None:
            return None
        if found.kind == "alloc":
            self._ops[hash(found.target.data)] = Op(found.text(1))
        if found.kind == "update":
            return self._wrapped(found, 4)
        if found.kind == "init" and len(found.args) > 3 and not self._neutral(found):
            return self._wrapped(found, 3)
        return self._finalize(stmt, found) if found.kind == "finalize" else None

    def _neutral(self, found: marker.Marker) -> bool:
        """Whether a seed is the identity: it is in no sum, however often it enters."""
        return is_identity(mirror(found.args[3]), self._ops[hash(found.target.data)])

    def _wrapped(self, found: marker.Marker, place: int) -> Any:
        args = list(found.args)
        value = args[place]
        args[place] = _call(
            str(value.dtype), CONTRIBUTION, value, self._contributions, *self._loops
        )
        self._contributions += 1
        return adapter().tir.Evaluate(marker.build(found.kind, *args))

    def _finalize(self, stmt: Any, found: marker.Marker) -> Any:
        where = found.args[3].buffer if len(found.args) > 3 else found.target
        value = _call("int32", FINALIZE, self._finalizes, *self._loops)
        self._finalizes += 1
        return adapter().tir.AttrStmt(where.data, FINALIZE, value, stmt)


def _call(dtype: str, name: str, *args: Any) -> Any:
    here = adapter()
    operands = [here.tir.StringImm(name), *marker.operands(args)]
    return here.tir.Call(dtype, here.op("call_pure_extern"), operands)


def _extern(expr: Any, name: str) -> Any:
    """The arguments of a call of `name`, its name first, or None."""
    if expr.type != "Call" or not expr.args:
        return None
    first = expr.args[0]
    return expr.args if first.type == "StringImm" and first.value == name else None

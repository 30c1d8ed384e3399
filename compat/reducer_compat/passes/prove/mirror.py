"""TIR as plain Python objects: a field of a TVM object costs a call into C++ whenever it is read.

A mirror reads each field once, when it is first asked for, and what nobody asks for stays where
it is: the counter looks at the statements of a kernel several times, and into few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from reducer_compat import marker, tree

#: What is no node.
_PLAIN = frozenset({int, float, bool, str, type(None)})


class _Field:
    """Reads a field when it is first asked for: what a mirror has of its own goes before this.

    `__getattr__` would do, at several times the price.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, mirror: Mirror, owner: type[Mirror]) -> Any:
        name = self._name
        value = getattr(mirror.raw, name)
        if type(value) not in _PLAIN:
            value = _wrapped(value, mirror.known)
        mirror.__dict__[name] = value
        return value


class Mirror:
    """A node of TIR: its fields by their names in TVM, arrays as tuples, nodes as mirrors.

    Attributes:
        raw: the node itself.
        type: the name of its class.
        key: a number that no other living node has.
        known: every mirror so far, by its key.
        parts: for `operands`, of an expression.
        leaves: for `values.leaves`, of an expression.
    """

    raw: Any
    type: str
    key: int
    parts: tuple[Any, ...] | None = None
    leaves: tuple[Any, ...] | None = None

    def __init__(self, raw: Any, key: int, known: dict[int, Mirror]) -> None:
        self.raw = raw
        self.key = key
        self.known = known

    def __str__(self) -> str:
        return str(self.raw)


def mirror(node: Any) -> Any:
    """The mirror of a node; what it holds more than once, it holds as one mirror."""
    return _wrapped(node, {})


def settle(whole: Any) -> None:
    """Let go of a mirror's knowledge of all others, once it was read.

    They hold each other by it, and would stay until the garbage collector finds them. What is
    read later is no longer one mirror with what was read before, but has the same key.
    """
    whole.known.clear()


for _name in (
    *("a", "alloc_buffers", "annotations", "args", "attr_key", "b", "base", "block", "body"),
    *("buffer", "condition", "data", "dtype", "else_case", "extent", "false_value", "indices"),
    *("init", "kind", "loop_var", "min", "name", "node", "op", "seq", "shape", "stride"),
    *("then_case", "thread_tag", "true_value", "value", "var", "vectors"),
):
    setattr(Mirror, _name, _Field(_name))


@lru_cache(maxsize=1)
def _object_hash() -> Callable[[Any], int]:
    """The hash of every object: some classes define `==`, and lose it."""
    import tvm_ffi

    return tvm_ffi.Object.__hash__


def _tuple(value: Any, key: int, known: dict[int, Any]) -> tuple[Any, ...]:
    return tuple([_wrapped(item, known) for item in tree.items(value)])


def _as_it_is(value: Any, key: int, known: dict[int, Any]) -> Any:
    return value


#: What makes the mirror of a value, by its class. Objects with the same fields take less to keep,
#: so each class of nodes has a class of mirrors.
_MAKERS: dict[type, Callable[[Any, int, dict[int, Any]], Any]] = {}


def _maker_of(kind: type) -> Callable[[Any, int, dict[int, Any]], Any]:
    import tvm_ffi

    if issubclass(kind, tvm_ffi.Array):
        made: Callable[[Any, int, dict[int, Any]], Any] = _tuple
    elif issubclass(kind, (tvm_ffi.Map, int, float, str)):
        made = _as_it_is
    else:
        made = type(kind.__name__, (Mirror,), {"type": kind.__name__})
    _MAKERS[kind] = made
    return made


def _wrapped(value: Any, known: dict[int, Any]) -> Any:
    make = _MAKERS.get(type(value)) or _maker_of(type(value))
    if make is _tuple or make is _as_it_is:
        return make(value, 0, known)
    key = _object_hash()(value)
    found = known.get(key)
    if found is None:
        found = known[key] = make(value, key, known)
    return found


#: The field with the one statement inside.
_INNER = {
    **dict.fromkeys(("For", "AttrStmt", "LetStmt", "While", "Allocate", "DeclBuffer"), "body"),
    **dict.fromkeys(("BlockRealize", "SBlockRealize"), "block"),
}
#: The fields with several, in program order.
_ARMS = {
    "IfThenElse": ("then_case", "else_case"),
    **dict.fromkeys(("Block", "SBlock"), ("init", "body")),
    **dict.fromkeys(("BufferStore", "Evaluate", "Bind"), ()),
}
_BODY = ("body",)


def children(stmt: Any) -> tuple[Any, ...]:
    """The statements directly inside one."""
    if stmt.type == "SeqStmt":
        inside: tuple[Any, ...] = stmt.seq
        return inside
    name = _INNER.get(stmt.type)
    if name is not None:
        return (getattr(stmt, name),)
    names = _ARMS.get(stmt.type, _BODY)
    return tuple([part for name in names if (part := getattr(stmt, name, None)) is not None])


_BINARY = (
    *("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max"),
    *("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"),
)
#: The fields with the operands of an expression.
_OPERANDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_BINARY, ("a", "b")),
    "Not": ("a",),
    "Cast": ("value",),
    "Select": ("condition", "true_value", "false_value"),
    "Let": ("value", "body"),
    "Ramp": ("base", "stride"),
    "Broadcast": ("value",),
}
#: Those with operands that are arrays.
_ARRAYS = {"Call": "args", "BufferLoad": "indices", "Shuffle": "vectors"}


def operands(expr: Any) -> tuple[Any, ...]:
    """The expressions directly inside one."""
    if expr.parts is None:
        array = _ARRAYS.get(expr.type)
        names = _OPERANDS.get(expr.type, ())
        expr.parts = getattr(expr, array) if array else tuple([getattr(expr, n) for n in names])
    found: tuple[Any, ...] = expr.parts
    return found


def nodes(expr: Any) -> Iterator[Any]:
    """Every node of an expression."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack += operands(node)


def variables(expr: Any) -> Iterator[Any]:
    """The variables that an expression mentions."""
    return (node for node in nodes(expr) if node.type in ("Var", "SizeVar"))


def constant(expr: Any) -> int | None:
    """The value of an integer constant, or None."""
    return int(expr.value) if expr.type == "IntImm" else None


def equal(one: Any, other: Any) -> bool:
    """Whether two expressions are the same, letter by letter."""
    if one.key == other.key:
        return True
    if one.type != other.type:
        return False
    if one.type in ("IntImm", "FloatImm", "StringImm"):
        return bool(one.value == other.value)
    if one.type == "BufferLoad" and one.buffer.key != other.buffer.key:
        return False
    if one.type == "Call" and one.op.key != other.op.key:
        return False
    mine, others = operands(one), operands(other)
    return len(mine) == len(others) > 0 and all(map(equal, mine, others))


def read_marker(stmt: Any) -> marker.Marker | None:
    """The marker that a statement is, or None; its operands are mirrors."""
    if stmt.type not in ("Evaluate", "BufferStore"):
        return None
    call = stmt.value
    if call.type != "Call" or not call.args or call.args[0].type != "StringImm":
        return None
    name = call.args[0].value
    if not name.startswith(marker.PREFIX):
        return None
    found = marker.Marker(name[len(marker.PREFIX) :], call)
    return found if stmt.type == "Evaluate" or found.kind == "partial" else None

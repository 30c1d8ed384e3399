"""TIR as plain Python objects: a field of a TVM object costs a call into C++ whenever it is read.

A mirror reads its fields once, when it is made, and in one go for its class. What most nobody asks
for is read when it is asked for: indices, conditions, extents, shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from reducer_compat import marker, tree

#: The mirrors of the buffers that were met, by their keys.
Known = dict[int, Any]


class Mirror:
    """A node of TIR, with the fields of it that a count needs, by their names in TVM.

    Attributes:
        raw: the node itself.
        type: the name of its class.
        key: a number that no other living node has, of those that are told apart by it.
        operands: the expressions directly inside an expression.
        children: the statements directly inside a statement, in program order.
        leaves: for `values.leaves`, of an expression.
    """

    __slots__ = ("leaves", "raw")
    type: str
    operands: Any = ()
    children: Any = ()

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves: tuple[Any, ...] | None = None

    @property
    def dtype(self) -> str:
        return str(self.raw.dtype)

    def __str__(self) -> str:
        return str(self.raw)


def mirror(node: Any) -> Any:
    """The mirror of a node."""
    return _READERS[type(node)](node, {})


@lru_cache(maxsize=1)
def _object_hash() -> Callable[[Any], int]:
    """The hash of every object: some classes define `==`, and lose it."""
    import tvm_ffi

    return tvm_ffi.Object.__hash__


class _Readers(dict[type, Callable[[Any, Known], Any]]):
    """What makes the mirror of a node, by its class: a class of mirrors for each."""

    def __missing__(self, kind: type) -> Callable[[Any, Known], Any]:
        name = kind.__name__
        if name == "Buffer":
            made: Callable[[Any, Known], Any] = _buffer
        else:
            fields = {"__slots__": (), "type": name}
            made = type(name, (_FAMILIES.get(name, _Other),), fields)
        self[kind] = made
        return made


_READERS = _Readers()


def _read(node: Any, known: Known) -> Any:
    return _READERS[type(node)](node, known)


def _array(array: Any, known: Known) -> tuple[Any, ...]:
    return tuple([_READERS[type(item)](item, known) for item in tree.items(array)])


def _buffer(raw: Any, known: Known) -> Any:
    key = _object_hash()(raw)
    found = known.get(key)
    if found is None:
        found = known[key] = _Buffer(raw, key)
    return found


class _Keyed(Mirror):
    """A node whose key few ask for."""

    __slots__ = ()

    @property
    def key(self) -> int:
        return _object_hash()(self.raw)


# -- expressions ----------------------------------------------------------------------------------


class _Literal(Mirror):
    __slots__ = ("value",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.value = raw.value


class _Variable(Mirror):
    __slots__ = ("key",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.key = _object_hash()(raw)

    @property
    def name(self) -> str:
        return str(self.raw.name)


class _Binary(Mirror):
    __slots__ = ("a", "b")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        a, b = raw.a, raw.b
        self.a = _READERS[type(a)](a, known)
        self.b = _READERS[type(b)](b, known)

    @property
    def operands(self) -> tuple[Any, ...]:
        return self.a, self.b


class _Not(Mirror):
    __slots__ = ("a",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.a = _read(raw.a, known)

    @property
    def operands(self) -> tuple[Any, ...]:
        return (self.a,)


class _Unary(Mirror):
    """A cast or a broadcast: `value` says all that counts."""

    __slots__ = ("value",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.value = _read(raw.value, known)

    @property
    def operands(self) -> tuple[Any, ...]:
        return (self.value,)


class _Select(Mirror):
    __slots__ = ("condition", "false_value", "true_value")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.condition = _read(raw.condition, known)
        self.true_value = _read(raw.true_value, known)
        self.false_value = _read(raw.false_value, known)

    @property
    def operands(self) -> tuple[Any, ...]:
        return self.condition, self.true_value, self.false_value


class _Listed(Mirror):
    """An expression with operands in one field or several."""

    __slots__ = ("operands",)
    _fields: tuple[str, ...]

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.operands = tuple([_read(getattr(raw, name), known) for name in self._fields])


class _Let(_Listed):
    __slots__ = ()
    _fields = ("value", "body")


class _Ramp(_Listed):
    __slots__ = ()
    _fields = ("base", "stride")


class _Shuffle(Mirror):
    __slots__ = ("operands",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.operands = _array(raw.vectors, known)


class _Call(_Keyed):
    """A call; `tag` is for `tags.contribution`."""

    __slots__ = ("args", "name", "tag")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self.tag: Any = False
        self.name = _operator(raw.op)
        self.args = _array(raw.args, known)

    @property
    def operands(self) -> tuple[Any, ...]:
        return self.args


#: The names of operators, which TVM never gives up, by their keys.
_OPERATORS: dict[int, str] = {}


def _operator(op: Any) -> str:
    """The name of an operator without TVM's namespace, which differs between releases."""
    key = _object_hash()(op)
    name = _OPERATORS.get(key)
    if name is None:
        name = str(getattr(op, "name", "") or getattr(op, "name_hint", ""))
        for family in ("tirx.", "tir."):
            name = name.removeprefix(family)
        if type(op).__name__ == "Op":
            _OPERATORS[key] = name
    return name


class _Indexed(_Keyed):
    """A load or a store."""

    __slots__ = ("_indices", "_known", "buffer")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        self._known = known
        self._indices: tuple[Any, ...] | None = None
        self.buffer = _buffer(raw.buffer, known)

    @property
    def indices(self) -> tuple[Any, ...]:
        if self._indices is None:
            self._indices = _array(self.raw.indices, self._known)
        return self._indices


class _Load(_Indexed):
    __slots__ = ()

    @property
    def operands(self) -> tuple[Any, ...]:
        return self.indices


class _Buffer(Mirror):
    __slots__ = ("data", "key")
    type = "Buffer"

    def __init__(self, raw: Any, key: int) -> None:
        self.raw = raw
        self.leaves = None
        self.key = key
        self.data = _read(raw.data, {})

    @property
    def name(self) -> str:
        return str(self.raw.name)

    @property
    def shape(self) -> tuple[Any, ...]:
        return _array(self.raw.shape, {})

    @property
    def scope(self) -> str:
        return str(self.raw.scope())


class _Axis(Mirror):
    """What a launch binds."""

    __slots__ = ()

    @property
    def var(self) -> Any:
        return _read(self.raw.var, {})

    @property
    def thread_tag(self) -> str:
        return str(self.raw.thread_tag)


# -- statements -----------------------------------------------------------------------------------


class _Store(_Indexed):
    __slots__ = ("value",)

    def __init__(self, raw: Any, known: Known) -> None:
        super().__init__(raw, known)
        self.value = _read(raw.value, known)


class _Evaluate(_Keyed):
    __slots__ = ("value",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.value = _read(raw.value, known)


class _Binding(_Keyed):
    """A `let`; `body` is None where it holds for the statements after it."""

    __slots__ = ("body", "children", "value", "var")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.var, self.value = _read(raw.var, known), _read(raw.value, known)
        body = getattr(raw, "body", None)
        self.body = None if body is None else _read(body, known)
        self.children = () if body is None else (self.body,)


class _Sequence(Mirror):
    __slots__ = ("children",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.children = _array(raw.seq, known)


class _Around(Mirror):
    """A statement around one other."""

    __slots__ = ("_known", "body")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self._known = known
        self.body = _read(raw.body, known)

    @property
    def children(self) -> tuple[Any, ...]:
        return (self.body,)


class _For(_Around):
    __slots__ = ()

    @property
    def loop_var(self) -> Any:
        return _read(self.raw.loop_var, self._known)

    @property
    def min(self) -> Any:
        return _read(self.raw.min, self._known)

    @property
    def extent(self) -> Any:
        return _read(self.raw.extent, self._known)

    @property
    def kind(self) -> Any:
        return self.raw.kind

    @property
    def annotations(self) -> Any:
        return self.raw.annotations


class _Attribute(_Around):
    __slots__ = ("attr_key",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self._known = known
        self.attr_key = str(raw.attr_key)
        self.body = _read(raw.body, known)

    @property
    def node(self) -> Any:
        return _read(self.raw.node, self._known)

    @property
    def value(self) -> Any:
        return _read(self.raw.value, self._known)


class _Branch(Mirror):
    __slots__ = ("_known", "children", "else_case", "then_case")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self._known = known
        self.then_case = _read(raw.then_case, known)
        other = raw.else_case
        self.else_case = None if other is None else _read(other, known)
        self.children = (self.then_case,) if other is None else (self.then_case, self.else_case)

    @property
    def condition(self) -> Any:
        return _read(self.raw.condition, self._known)


class _Block(Mirror):
    __slots__ = ("_known", "children")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self._known = known
        inside = [_read(part, known) for part in (raw.init, raw.body) if part is not None]
        self.children = tuple(inside)

    @property
    def alloc_buffers(self) -> tuple[Any, ...]:
        return _array(self.raw.alloc_buffers, self._known)

    @property
    def annotations(self) -> Any:
        return self.raw.annotations


class _Realize(Mirror):
    """A block where it runs: a pipeline that is shorter than its stages runs some of its copies
    under their predicates alone."""

    __slots__ = ("_known", "children")

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self._known = known
        self.children = (_read(raw.block, known),)

    @property
    def predicate(self) -> Any:
        return _read(self.raw.predicate, self._known)


class _Other(Mirror):
    """Anything else: an expression that nothing is known of, or a statement around another."""

    __slots__ = ("children",)

    def __init__(self, raw: Any, known: Known) -> None:
        self.raw = raw
        self.leaves = None
        body = getattr(raw, "body", None)
        self.children = () if body is None else (_read(body, known),)


_FAMILIES: dict[str, type[Mirror]] = {
    **dict.fromkeys(("IntImm", "FloatImm", "StringImm"), _Literal),
    **dict.fromkeys(("Var", "SizeVar"), _Variable),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod"), _Binary),
    **dict.fromkeys(("Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"), _Binary),
    **dict.fromkeys(("Cast", "Broadcast"), _Unary),
    **dict.fromkeys(("LetStmt", "Bind"), _Binding),
    **dict.fromkeys(("Block", "SBlock"), _Block),
    **dict.fromkeys(("BlockRealize", "SBlockRealize"), _Realize),
    "Not": _Not,
    "Select": _Select,
    "Let": _Let,
    "Ramp": _Ramp,
    "Shuffle": _Shuffle,
    "Call": _Call,
    "BufferLoad": _Load,
    "IterVar": _Axis,
    "BufferStore": _Store,
    "Evaluate": _Evaluate,
    "SeqStmt": _Sequence,
    "For": _For,
    "AttrStmt": _Attribute,
    "IfThenElse": _Branch,
}


def nodes(expr: Any) -> Iterator[Any]:
    """Every node of an expression."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack += node.operands


def variables(expr: Any) -> Iterator[Any]:
    """The variables that an expression mentions."""
    return (node for node in nodes(expr) if node.type in ("Var", "SizeVar"))


def constant(expr: Any) -> int | None:
    """The value of an integer constant, or None."""
    return int(expr.value) if expr.type == "IntImm" else None


def equal(one: Any, other: Any) -> bool:
    """Whether two expressions are the same, letter by letter."""
    if one is other or one.raw.same_as(other.raw):
        return True
    if one.type != other.type:
        return False
    if one.type in ("IntImm", "FloatImm", "StringImm"):
        return bool(one.value == other.value)
    if one.type == "BufferLoad" and one.buffer.key != other.buffer.key:
        return False
    if one.type == "Call" and one.name != other.name:
        return False
    mine, others = one.operands, other.operands
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

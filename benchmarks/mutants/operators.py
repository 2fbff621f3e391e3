"""Small mistakes in the syntax tree of a file: a mutant is the file with one of them."""

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from left_out import FILES, KEYWORDS, TINY, assigned, is_limit, left_out_constants, open_sizes

# The first moves the boundary, the second turns the comparison round.
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# Functions and methods that are easily taken for one another.
NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "sum": "max",
    "mean": "max",
    "abs": "positive",
    "sqrt": "square",
    "sorted": "list",
}


@dataclass(frozen=True)
class Mutant:
    """A file with one mistake."""

    path: str
    # Qualified name of the function that it is in; empty outside of all functions.
    function: str
    line: int
    what: str
    # Writes the text of the file, with the mistake and without.
    write: Callable[[], str]
    original: Callable[[], str]

    @property
    def key(self) -> str:
        """The same for the same mistake in the same text, whatever stands elsewhere in the file."""
        return hashlib.sha256(f"{self.path}\n{self.what}".encode()).hexdigest()[:16]


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file but those that ``left_out`` gives a reason for."""
    if path in FILES:
        return
    tree = ast.parse(source)
    kept = left_out_constants(path, tree)
    fixed = {id(node) for s in tree.body if assigned(s) & kept for node in ast.walk(s)}
    same, seen = open_sizes(tree), dict[str, int]()
    for node, parent, function in list(_walk(tree, None, "", "")):
        if id(node) in fixed:
            continue
        for change in _changes(node, parent):
            before = ast.unparse(_statement(node, parent))
            undo = change()
            after = ast.unparse(_statement(node, parent))
            undo()
            what = f"{_line(before)}  ->  {_line(after)}"
            if before == after:
                continue
            # Equal changes in one file are told apart by their number.
            seen[what] = seen.get(what, 0) + 1
            what = what if seen[what] == 1 else f"{what}  ({seen[what]})"
            if id(node) in same:
                continue
            yield Mutant(path, function, node.lineno, what, partial(_write, tree, change), partial(ast.unparse, tree))


def _write(tree, change) -> str:
    """The text of the tree with a change."""
    undo = change()
    text = ast.unparse(tree)
    undo()
    return text


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _statement(node, parent):
    """What is shown of a change: the expression around it."""
    return parent if isinstance(node, ast.expr) and parent is not None and isinstance(parent, ast.expr) else node


def _walk(node, parent, function, scope):
    """Nodes that may change, without annotations, docstrings, decorators, messages and declarations of types."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_left_alone(child):
                continue
            # Values by default are no part of the function's code.
            inside, within = "" if isinstance(node, ast.arguments) else function, scope
            if isinstance(child, ast.FunctionDef):
                inside, within = scope + child.name, f"{scope}{child.name}.<locals>."
            elif isinstance(child, ast.ClassDef):
                within = f"{scope}{child.name}."
            if isinstance(child, ast.expr | ast.stmt):
                yield child, node, inside
            yield from _walk(child, child, inside, within)


def _is_left_alone(node):
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
        return True
    if isinstance(node, ast.keyword):
        return node.arg in KEYWORDS
    if isinstance(node, ast.ClassDef):
        return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("warnings.warn", "TypeVar", "cast"):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node, parent):
    """Functions that each make one mistake at a node and return how to undo it."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        others = COMPARISONS[type(node.ops[0])]
        by_chance = len(others) > 1 and (is_limit(node.left) or is_limit(node.comparators[0]))
        for other in others[1:] if by_chance else others:
            yield lambda other=other: _set(node, "ops", [other()])
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield lambda: _set(node, "op", ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield lambda: _set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda: _set(node, "op", ast.UAdd())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield lambda: _set(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.Constant) and not isinstance(node.value, str | bytes) and node.value not in (None, ...):
        if isinstance(node.value, float) and 0.0 < node.value < TINY:
            return
        yield lambda: _set(node, "value", _other(node.value))
    elif isinstance(node, ast.Attribute) and (node.attr in NAMES or node.attr == "T"):
        yield (lambda: _set(node, "attr", NAMES[node.attr])) if node.attr in NAMES else (lambda: _drop_transpose(node))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in NAMES:
        if isinstance(parent, ast.Call) and parent.func is node:
            yield lambda: _set(node, "id", "float" if node.id == "abs" else NAMES[node.id])
    elif isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            yield lambda value=value: _set(node, "test", ast.Constant(value))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield lambda: _set(node, "value", ast.Constant(None))


def _other(value):
    if isinstance(value, bool):
        return not value
    if value == 0:
        return type(value)(1)
    return value + 1 if isinstance(value, int) else 2.0 * value


def _drop_transpose(node):
    return _set(node, "attr", "copy()")


def _set(node, name, value):
    """Change a field; gives what changes it back."""
    old = getattr(node, name)
    setattr(node, name, value)
    return lambda: setattr(node, name, old)

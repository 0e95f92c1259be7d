"""Walks over syntax trees, none of them by recursion over expressions."""

from __future__ import annotations

from collections.abc import Iterator

from pliant.frontend.modelica.syntax.tree import Annotation, Binary, Expression, LongClass, Node


def left_chain(node: Expression) -> tuple[Expression, list[Binary]]:
    """The first operand and the operations on it in order: `a + b - c` gives a, [a + b, (a + b) - c]."""
    operations: list[Binary] = []
    while isinstance(node, Binary):
        operations.append(node)
        node = node.left
    operations.reverse()
    return node, operations


def children(node: Node) -> Iterator[Node]:
    """Nodes directly below, in the order of their fields; bodies and annotations that were not parsed are parsed."""
    for field in contents(node):
        yield from _nodes_in(field)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first, without recursion."""
    open_nodes = [node]
    while open_nodes:
        one = open_nodes.pop()
        yield one
        open_nodes.extend(reversed(list(children(one))))


def contents(node: Node) -> list[object]:
    """The fields of a node without its place."""
    if isinstance(node, LongClass):
        return [getattr(node, name) for name in (*node.fields[3:], "body") if name != "name_start"]
    if isinstance(node, Annotation):
        return [node.arguments]
    return [getattr(node, name) for name in node.fields[3:] if name != "name_start"]


def same(one: object, other: object) -> bool:
    """The same was written, places aside."""
    pairs = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, Node) and isinstance(b, Node):
            pairs.extend(zip(contents(a), contents(b), strict=True))
        elif isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True


def _nodes_in(field: object) -> Iterator[Node]:
    if isinstance(field, Node):
        yield field
    elif isinstance(field, tuple):
        for one in field:
            yield from _nodes_in(one)

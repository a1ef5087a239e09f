"""From a tree to its canonical text, without recursion: the text that equality and hashing rest on.

The functions use only what every node tells about itself (`level`, `word`, `operands`), so that the tree can
import them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matchwood.errors import LimitExceeded
from matchwood.language import names
from matchwood.language.limits import MAX_PRINTED
from matchwood.language.literals import spell
from matchwood.language.operators import COMPARISONS, NO_CONSTANT, PATTERNS, SEVERAL_CONSTANTS, TWO_CONSTANTS

if TYPE_CHECKING:
    from matchwood.language.tree import Expression


def text_of(root: Expression) -> str:
    """The canonical text of a tree; parentheses stand where the grammar needs them, and before `is true`."""
    pieces: list[str] = []
    length = 0
    stack: list[Any] = [root]
    while stack:
        part = stack.pop()
        if type(part) is not str:
            if part.operands:
                stack.extend(reversed(_parts(part)))
                continue
            part = part.leaf_text()
        pieces.append(part)
        length += len(part)
        if length > MAX_PRINTED:
            raise LimitExceeded(f"the expression's text is longer than {MAX_PRINTED:,} characters")
    return "".join(pieces)


def _parts(node: Any) -> list[Any]:
    """A node as its words and operands in order, parentheses included."""
    if node.level == NOT_LEVEL:
        return ["not ", *_operand(node.operands[0], node.level - 1)]
    if node.level == ATOM_LEVEL:
        return ["(", node.operands[0], ") is not " if node.negated else ") is ", node.test]
    parts: list[Any] = []
    for operand in node.operands:
        parts += (node.word,) if parts else ()
        parts += _operand(operand, node.level)
    return parts


def _operand(operand: Any, level: int) -> tuple[Any, ...]:
    """An operand, in parentheses if it binds no tighter than `level`."""
    return ("(", operand, ")") if operand.level <= level else (operand,)


OR_LEVEL, XOR_LEVEL, AND_LEVEL, NOT_LEVEL, ATOM_LEVEL = 1, 2, 3, 4, 5


def predicate_text(attr: str, op: str, value: Any, escape: str | None) -> str:
    """The text of one predicate.

    >>> predicate_text("tags", "not contains", "sport", None)
    "'sport' not in tags"
    """
    return _FORMS[op](names.spell(attr), op, value) + ("" if escape is None else f" escape {spell(escape)}")


def _one(attr: str, op: str, value: Any) -> str:
    return f"{attr} {op} {spell(value)}"


def _several(attr: str, op: str, value: Any) -> str:
    return f"{attr} {op} ({', '.join(map(spell, value))})"


def _two(attr: str, op: str, value: Any) -> str:
    return f"{attr} {op} {spell(value[0])} and {spell(value[1])}"


_FORMS: dict[str, Callable[[str, str, Any], str]] = {
    **dict.fromkeys((*COMPARISONS, *PATTERNS), _one),
    **dict.fromkeys(SEVERAL_CONSTANTS, _several),
    **dict.fromkeys(TWO_CONSTANTS, _two),
    **dict.fromkeys(NO_CONSTANT, lambda attr, op, value: f"{attr} {op}"),
    "contains": lambda attr, op, value: f"{spell(value)} in {attr}",
    "not contains": lambda attr, op, value: f"{spell(value)} not in {attr}",
}

"""Errors about a pattern, pointed at the rule that holds it.

A pattern is only read when its predicate is bound, long after the rule's text was; what is wrong with it is then
told as a place in the pattern. These two steps lead back: to the predicate's own text, and to the rule's.
"""

from __future__ import annotations

from matchwood.errors import ParseError
from matchwood.language.literals import spell
from matchwood.language.operators import PATTERNS
from matchwood.language.tree import Expression, Predicate, postorder


def in_predicate(error: ParseError, predicate: Predicate) -> ParseError:
    """An error about a predicate's pattern as an error about the predicate's text.

    >>> wrong = ParseError("50!x", offset=2, found="!x", expected="!%")
    >>> print(in_predicate(wrong, Predicate("rate", "like", "50!x", "!")))
    line 1, column 14: found '!x', expected !%
        rate like '50!x' escape '!'
                     ^
    """
    within = error.offset + error.text.count("'", 0, error.offset) + 1
    return _moved(error, str(predicate), _pattern_start(predicate) + within)


def in_source(error: ParseError, expression: Expression, source: str) -> ParseError:
    """An error about a predicate's text as an error about the text that the expression was read from.

    What was read from JSON, or built in Python, has no places in a text: its errors stay as they are.
    """
    for node in postorder(expression):
        if isinstance(node, Predicate) and node.op in PATTERNS and str(node) == error.text:
            start = -1 if node.position is None else source.find(spell(node.value), node.position)
            if start >= 0:
                return _moved(error, source, start + error.offset - _pattern_start(node))
    return error


def _pattern_start(predicate: Predicate) -> int:
    """Where the pattern's opening quote stands in the predicate's text."""
    tail = "" if predicate.escape is None else f" escape {spell(predicate.escape)}"
    return len(str(predicate)) - len(tail) - len(spell(predicate.value))


def _moved(error: ParseError, text: str, offset: int) -> ParseError:
    return ParseError(text, offset=offset, found=error.found, expected=error.expected, hint=error.hint)

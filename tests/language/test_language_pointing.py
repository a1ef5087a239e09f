"""Errors about patterns lead back to the predicate's text, and to the text of the rule."""

from __future__ import annotations

import pytest

from matchwood.errors import ParseError
from matchwood.language import Predicate, in_predicate, in_source, parse, postorder


def pointed(source: str, pattern: str, offset: int) -> ParseError:
    """The error at a place in a pattern, as a rule that holds the pattern would report it."""
    tree = parse(source)
    patterns = (node for node in postorder(tree) if isinstance(node, Predicate) and node.op.endswith("like"))
    predicate = next(node for node in patterns if node.value == pattern)
    error = ParseError(pattern, offset=offset, found="here", expected="something else", hint="write that")
    return in_source(in_predicate(error, predicate), tree, source)


@pytest.mark.parametrize(
    ("source", "pattern", "offset", "line", "column"),
    [
        ("x rlike '('", "(", 0, 1, 10),
        ("x = 1 and\n  y  LIKE   'a\\b'", "a\\b", 1, 2, 15),
        ("a = 'a\\b' and y like 'a\\b'", "a\\b", 1, 1, 24),
        ("s like 'it''s!x' escape '!'", "it's!x", 4, 1, 14),
        ("s like '!' escape '!'", "!", 0, 1, 9),
        ("`n'('` rlike 'a('", "a(", 1, 1, 16),
        ("not ((x NOT rlike '('))", "(", 0, 1, 20),
    ],
)
def test_the_place_in_the_rule(source: str, pattern: str, offset: int, line: int, column: int) -> None:
    error = pointed(source, pattern, offset)
    assert (error.text, error.line, error.column) == (source, line, column)
    assert (error.found, error.expected, error.hint) == ("here", "something else", "write that")


def test_what_was_not_read_from_text_keeps_the_predicate() -> None:
    tree = parse({"attr": "x", "op": "rlike", "value": "("})
    error = in_predicate(ParseError("(", offset=0, found="(", expected="RE2"), tree)
    assert in_source(error, tree, "anything") is error
    assert (error.text, error.column) == ("x rlike '('", 10)


def test_an_error_about_something_else_is_left_alone() -> None:
    error = ParseError("y =", offset=3, found="end of text", expected="a constant")
    assert in_source(error, parse("x rlike '('"), "x rlike '('") is error

"""Every tree survives its text, its JSON and its pickle, and reads the same with and without the shortcut."""

from __future__ import annotations

import copy
import json
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_support import PIECES, expressions, rule_texts

from matchwood.errors import LimitExceeded, ParseError
from matchwood.language import Expression, Predicate, parse, postorder
from matchwood.language.parser import parse_text


def fields(expression: Expression) -> list[tuple[object, ...]]:
    """Everything that a tree consists of, positions and types included."""
    rows: list[tuple[object, ...]] = []
    for node in postorder(expression):
        row: tuple[object, ...] = (type(node).__name__, len(node.operands))
        for slot in ("attr", "op", "value", "escape", "position", "test", "negated"):
            row += (repr(getattr(node, slot, None)),)
        rows.append(row)
    return rows


@given(expressions)
def test_text_reads_back_as_an_equal_tree(expression: Expression) -> None:
    text = str(expression)
    again = parse(text)
    assert again == expression
    assert hash(again) == hash(expression)
    assert str(again) == text


@given(expressions)
def test_text_reads_back_as_the_same_structure(expression: Expression) -> None:
    def shape(root: Expression) -> list[tuple[object, ...]]:
        return [row[:6] + row[7:] for row in fields(root)]

    assert shape(parse(str(expression))) == shape(expression)


@given(expressions)
def test_json_reads_back_as_an_equal_tree(expression: Expression) -> None:
    value = expression.to_json()
    assert Expression.from_json(value) == expression
    assert Expression.from_json(json.dumps(value)) == expression
    assert parse(json.dumps(value)) == parse(value) == expression
    assert json.dumps(Expression.from_json(value).to_json()) == json.dumps(value)


@given(expressions)
def test_copies_and_pickles_are_equal(expression: Expression) -> None:
    assert pickle.loads(pickle.dumps(expression)) == expression
    assert copy.copy(expression) is expression
    assert copy.deepcopy([expression])[0] is expression


@given(rule_texts())
def test_the_shortcut_reads_what_the_grammar_reads(text: str) -> None:
    assert fields(parse_text(text)) == fields(parse_text(text, simple=False))


@given(rule_texts())
def test_a_position_is_where_the_predicate_begins(text: str) -> None:
    """The text from a predicate's position on, cut at the next one's, begins with a predicate that is equal."""
    for node in postorder(parse(text)):
        if isinstance(node, Predicate):
            assert node.position is not None
            rest = text[node.position :]
            assert _first_predicate(rest) == node


def _first_predicate(text: str) -> Expression:
    """The predicate at the beginning of a text that may end in the middle of the structure around it."""
    from matchwood.language.lexer import Cursor, read_token
    from matchwood.language.predicates import read_predicate

    return read_predicate(Cursor(text, read_token(text, 0)))


def outcome(text: str, shortcut: bool) -> object:
    try:
        return fields(parse_text(text, simple=shortcut))
    except (ParseError, LimitExceeded) as error:
        return str(error)


@given(rule_texts(), st.randoms(use_true_random=False))
def test_a_damaged_rule_gets_the_same_answer_from_both(text: str, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 3)):
        start = rng.randint(0, len(text))
        text = text[:start] + rng.choice(PIECES) + text[start + rng.choice((0, 0, 1, 2)) :]
    assert outcome(text, shortcut=True) == outcome(text, shortcut=False)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30))
def test_no_text_crashes_the_parser(text: str) -> None:
    assert outcome(text, shortcut=True) == outcome(text, shortcut=False)


@pytest.mark.parametrize("text", ["x in (1, 2)", "x like 'a'", "x between 1 and 2.5", "x is null", "not (vip) and x=1"])
def test_the_shortcut_is_taken(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the comparisons above would compare the grammar with itself."""
    expected = fields(parse_text(text, simple=False))

    def refuse(*_: object) -> None:
        raise AssertionError("the grammar was asked")

    monkeypatch.setattr("matchwood.language.parser.read_predicate", refuse)
    assert fields(parse_text(text)) == expected

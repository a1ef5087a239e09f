"""The fixtures: rules that print as they are written, how other spellings print, and what bad input is told."""

from __future__ import annotations

import pytest
from language_support import load, load_lines, load_pairs

from matchwood.errors import MatchwoodError, ParseError
from matchwood.language.parser import parse, parse_text


@pytest.mark.parametrize("rule", load_lines("identity.txt", least=100))
def test_a_canonical_rule_prints_as_it_is_written(rule: str) -> None:
    assert str(parse(rule)) == rule


@pytest.mark.parametrize(("given", "wanted"), load("canonical.txt", least=70))
def test_every_spelling_has_one_canonical_text(given: str, wanted: str) -> None:
    assert str(parse(given)) == wanted
    assert parse(wanted) == parse(given)


@pytest.mark.parametrize(("given", "wanted"), load("bad.txt", least=200))
def test_bad_input_gets_exactly_this_message(given: str, wanted: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(given)
    assert str(caught.value).split("\n")[0] == wanted
    assert caught.value.text == given


@pytest.mark.parametrize(("given", "wanted"), [pair for pair in load("bad.txt", least=200) if pair[0][:1] != "{"])
def test_the_shortcut_changes_no_message(given: str, wanted: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_text(given, simple=False)
    assert str(caught.value).split("\n")[0] == wanted


@pytest.mark.parametrize(
    "text",
    ["< a\n", "> b\n", "< a\n< b\n> c\n", "< a\n\n> b\n", "< a\n# note\n> b\n", "a\n", "< a\n> b\n> c\n"],
    ids=repr,
)
def test_a_fixture_with_an_entry_that_has_no_partner_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no partner"):
        load_pairs(text, least=0)


def test_a_fixture_with_too_few_entries_is_refused() -> None:
    assert load_pairs("# note\n< a⏎b\n> c\n", least=1) == [("a\nb", "c")]
    with pytest.raises(ValueError, match="only 1 pairs, expected 2"):
        load_pairs("< a\n> b\n", least=2)
    with pytest.raises(ValueError, match="only"):
        load_lines("identity.txt", least=100_000)


def test_an_error_points_at_its_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse("age >= 18 and\n  country => 'US'")
    error = caught.value
    assert (error.line, error.column, error.offset, error.found) == (2, 11, 24, "=>")
    assert (error.expected, error.hint) == ("an operator", "write >=")
    assert str(error).split("\n")[1:] == ["      country => 'US'", "              ^"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [("x = '\ud800'", "half a surrogate pair"), ("`a\0b` = 1", "NUL"), ("`\ud800` = 1", "half a surrogate pair")],
)
def test_characters_that_no_rule_can_hold_are_refused(text: str, hint: str) -> None:
    with pytest.raises(ParseError, match=hint):
        parse(text)


@pytest.mark.parametrize("source", [None, 5, b"x = 1", ["x = 1"], True])
def test_what_is_neither_text_nor_json_nor_an_expression_is_refused(source: object) -> None:
    with pytest.raises(MatchwoodError, match="must be text, JSON or an Expression"):
        parse(source)  # type: ignore[arg-type]

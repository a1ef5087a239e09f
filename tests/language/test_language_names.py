"""Attributes' names: the canonical spelling, its keys, and the text in a rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from language_support import keys

from matchwood.errors import InvalidArgument
from matchwood.language import names, parse
from matchwood.language.names import canonical, join_path, quoted, spell, split_path, unquoted_name


@pytest.mark.parametrize(
    ("text", "attr", "path"),
    [
        ("age", "age", ("age",)),
        ("a.b", "a.b", ("a", "b")),
        ("`a.b`", "`a.b`", ("a.b",)),
        ('"a.b"', "`a.b`", ("a.b",)),
        ("`odd name`", "odd name", ("odd name",)),
        ('"say ""hi"""', 'say "hi"', ('say "hi"',)),
        ("`a``b`", "a`b", ("a`b",)),
        ("```a`", "```a`", ("`a",)),
        ("`and`", "and", ("and",)),
        ("a.`b c`.`d.e`", "a.b c.`d.e`", ("a", "b c", "d.e")),
        ("AND.x", "AND.x", ("AND", "x")),
    ],
)
def test_the_canonical_spelling_of_a_name(text: str, attr: str, path: tuple[str, ...]) -> None:
    node = parse(f"{text} = 1")
    assert node.attr == attr  # type: ignore[attr-defined]
    assert split_path(attr) == path
    assert join_path(path) == attr
    assert parse(f"{spell(attr)} = 1") == node


@given(st.lists(keys, min_size=1, max_size=4).map(tuple))
def test_paths_are_split_as_they_were_joined(path: tuple[str, ...]) -> None:
    attr = join_path(path)
    assert split_path(attr) == path
    assert canonical(attr) == attr
    assert parse(f"{spell(attr)} is null").attr == attr  # type: ignore[attr-defined]


@given(keys)
def test_a_quoted_key_is_one_key(key: str) -> None:
    assert split_path(quoted(key)) == (key,)


def test_a_name_given_with_backquotes_loses_those_it_does_not_need() -> None:
    assert canonical("`odd name`") == "odd name"
    assert canonical("`a.b`") == "`a.b`"
    assert canonical("a.`b`") == "a.b"


@pytest.mark.parametrize("attr", ["", ".", "a.", ".a", "a..b", "`a", "`a`b", "``", "a.``"])
def test_what_is_no_name_is_refused(attr: str) -> None:
    with pytest.raises(InvalidArgument):
        canonical(attr)


def test_rules_share_the_strings_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (parse(f"some_name = {number}") for number in range(2))
    assert first.attr is second.attr  # type: ignore[attr-defined]
    monkeypatch.setattr(names, "known_names", {})
    monkeypatch.setattr(names, "_NAMES_KEPT", 10)
    assert [unquoted_name(f"name{number}") for number in range(25)] == [f"name{number}" for number in range(25)]
    assert len(names.known_names) <= 10


@pytest.mark.parametrize("word", ["and", "AND", "Null", "true"])
def test_reserved_words_are_no_names(word: str) -> None:
    assert unquoted_name(word) is None
    assert spell(word) == f"`{word}`"

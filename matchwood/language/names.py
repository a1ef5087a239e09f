"""How attributes are named: one canonical spelling inside, and the text that a rule shows.

An attribute is a path of keys. Its canonical spelling joins the keys with dots; a key that contains a dot
or begins with a backquote stands in backquotes, every other key stands as it is. So `a.b` is key b below
key a, `` `a.b` `` is the one key a.b, and `odd name` needs no backquotes until it is printed in a rule.
"""

from __future__ import annotations

import re

from matchwood.errors import InvalidArgument, kind_in_words

RESERVED = frozenset(
    ("and", "or", "xor", "xnor", "not", "in", "between", "like", "ilike", "rlike", "is", "null", "true", "false")
)
"""Words that name no attribute unless quoted; date, cast, one, all, none, of, escape are words only in their place."""

_WHOLE = re.compile(r"[^\W\d]\w*+(?:\.\w++)*+")
_FIRST_KEY = re.compile(r"[^\W\d]\w*+")
_NEXT_KEY = re.compile(r"\w++")
_KEY = re.compile(r"(?:`([^`]*+(?:``[^`]*+)*+)`|([^.`][^.]*+))(\.|\Z)")
_SURROGATE = re.compile("[\ud800-\udfff]")

known_names: dict[str, str] = {}
"""Unquoted names that rules have used, each to one shared string."""

_NAMES_KEPT, _LENGTH_KEPT = 65_536, 256


def unquoted_name(word: str) -> str | None:
    """The attribute that an unquoted word names; None for a reserved word.

    The same string object is returned each time: a million rules share their names.
    """
    known = known_names.get(word)
    if known is not None or is_reserved(word):
        return known
    if len(word) > _LENGTH_KEPT:
        return word
    if len(known_names) >= _NAMES_KEPT:
        known_names.clear()
    return known_names.setdefault(word, word)


def is_reserved(word: str) -> bool:
    """Whether the word is a keyword in any case (ASCII only: the Kelvin sign is not a k)."""
    return word.isascii() and word.lower() in RESERVED


def has_surrogate(text: str) -> bool:
    """Whether the text holds half a surrogate pair, which no UTF-8 can carry."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def quoted(key: str) -> str:
    """The attribute that is exactly one top-level key.

    >>> quoted("a.b"), quoted("odd name")
    ('`a.b`', 'odd name')
    """
    _check_key(key)
    return backquoted(key) if "." in key or key[0] == "`" else key


def backquoted(key: str) -> str:
    return "`" + key.replace("`", "``") + "`"


def join_path(keys: tuple[str, ...]) -> str:
    """The attribute at the end of a path of keys.

    >>> join_path(("a", "b c", "d.e"))
    'a.b c.`d.e`'
    """
    return ".".join(map(quoted, keys))


def split_path(attr: str) -> tuple[str, ...]:
    """The keys of an attribute, from the top down.

    >>> split_path("a.b"), split_path("`a.b`")
    (('a', 'b'), ('a.b',))
    """
    if "`" not in attr:
        return tuple(attr.split("."))
    keys, position, more = [], 0, True
    while more:
        found = _KEY.match(attr, position)
        if found is None:
            raise InvalidArgument(f"{attr!r} is not an attribute's name: its backquotes do not pair up")
        keys.append(found[2] if found[1] is None else found[1].replace("``", "`"))
        position, more = found.end(), found[3] == "."
    return tuple(keys)


def canonical(attr: object) -> str:
    """The canonical spelling of a name given in Python or JSON; an error if it is no name.

    >>> canonical("`odd name`")
    'odd name'
    """
    if not isinstance(attr, str):
        raise InvalidArgument(f"an attribute's name must be a str (got {attr!r}, {kind_in_words(attr)})")
    return join_path(split_path(str.__str__(attr)))


def spell(attr: str) -> str:
    """The text that names the attribute in a rule.

    >>> print(spell("age"), spell("a.b"), spell("odd name"), spell("`a.b`"), spell("and"))
    age a.b `odd name` `a.b` `and`
    """
    if _WHOLE.fullmatch(attr):
        return backquoted(attr) if is_reserved(attr) else attr
    first, *others = split_path(attr)
    return ".".join([_spell_key(first, _FIRST_KEY), *(_spell_key(key, _NEXT_KEY) for key in others)])


def _spell_key(key: str, plain: re.Pattern[str]) -> str:
    return key if plain.fullmatch(key) else backquoted(key)


def _check_key(key: str) -> None:
    if not key:
        raise InvalidArgument(
            "an attribute's name has an empty part; a key that itself contains dots goes in backquotes"
        )
    if "\0" in key:
        raise InvalidArgument("an attribute's name must not contain a NUL character")
    if has_surrogate(key):
        raise InvalidArgument("an attribute's name must not contain half a surrogate pair")

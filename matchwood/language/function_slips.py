"""Functions that people call in rules, and what the language has in their place."""

from __future__ import annotations

FUNCTION = "functions are not part of the language: compute the value first and pass it as an attribute"

_CASE = "to ignore case write ilike: x ilike 'abc'"
_BEGIN = "write x like 'abc%'"
_END = "write x like '%abc'"
_ELEMENT = "write 'x' in tags"
_PATTERN = "write x rlike 'a.c'"
_NULL = "write x is null"

_INSTEAD = {
    **dict.fromkeys(("lower", "upper", "lcase", "ucase"), _CASE),
    **dict.fromkeys(("starts_with", "startswith"), _BEGIN),
    **dict.fromkeys(("ends_with", "endswith"), _END),
    **dict.fromkeys(("array_contains", "list_contains", "list_has"), _ELEMENT),
    **dict.fromkeys(("arrays_overlap", "list_has_any"), "write tags one of ('x', 'y')"),
    "contains": f"{_ELEMENT} for a list, x like '%abc%' for a text",
    **dict.fromkeys(("regexp_like", "regexp", "regexp_matches", "rlike"), _PATTERN),
    **dict.fromkeys(("isnull", "is_null"), _NULL),
    **dict.fromkeys(("isnotnull", "is_not_null"), "write x is not null"),
    **dict.fromkeys(("coalesce", "ifnull", "nvl"), "for NULL write: x = 0 or x is null"),
    **dict.fromkeys(("to_date", "date"), "write date '2026-01-31'"),
    **dict.fromkeys(("to_timestamp", "timestamp"), "write timestamp '2026-01-31 12:00:00'"),
}


def clause_hint(word: str) -> str | None:
    """The hint for the words of a query around its condition."""
    if word.lower() in ("where", "having", "when", "if", "filter"):
        return f"leave out {word}: a rule is the condition alone"
    return "a rule is the condition alone, without SELECT and WHERE" if word.lower() == "select" else None


def function_hint(keyword: str) -> str:
    """The hint for a function's name, or for a clause whose condition stands in parentheses."""
    if clause := clause_hint(keyword):
        return clause
    instead = _INSTEAD.get(keyword)
    return f"functions are not part of the language: {instead}" if instead else FUNCTION

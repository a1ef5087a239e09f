"""What people write by mistake, and the hint that each slip gets."""

from __future__ import annotations

import re
from difflib import get_close_matches

from matchwood.language.function_slips import clause_hint, function_hint
from matchwood.language.lexer import Cursor, Token, shortened
from matchwood.language.names import RESERVED

ARITHMETIC = "arithmetic is not part of the language: compute the value first and pass it as an attribute"
ATTRIBUTES = "an attribute is compared with a constant, not with another attribute"
TWO_CONSTANTS = "two constants are not compared: one side must be an attribute"
NULL = "nothing equals NULL: write is null or is not null"
CHAIN = "comparisons do not chain: write x > 1 and x < 5, or x between 1 and 5"
PARENTHESES = "remove the parentheses: an attribute is compared with a constant"
CONSTANT_ALONE = "a constant by itself is no expression, except true and false"
DOUBLED_QUOTE = "a quote within a text is doubled: 'it''s'"

COMPARISON_SYMBOLS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">="))
_ARITHMETIC_SYMBOLS = frozenset("+-*/%")

_SYMBOLS = {
    "=>": "write >=",
    "=<": "write <=",
    "===": "write =",
    "!==": "write !=",
    "<=>": "write =, or is null for NULL",
    "=~": "write rlike",
    "!~": "write not rlike",
    "~": "write rlike",
    "&&": "write and",
    "&": "write and",
    "||": "write or",
    "|": "write or",
    "^": "write xor",
    "!": "write not",
    "::": "casts of attributes are not part of the language",
    "->": "a field of a struct or map is written a.b",
    "--": "comments are not part of the language",
    "/*": "comments are not part of the language",
    ";": "a rule is one expression, without a semicolon",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !=",
    "−": "write the minus sign as -",
    "[": "a list stands in parentheses",
    "?": "a rule has no parameters: write the constant itself",
    "$": "a rule has no parameters: write the constant itself",
    ":": "a rule has no parameters: write the constant itself",
    "@": "a rule has no parameters: write the constant itself",
    "{": "JSON is one object: the whole text begins with {",
    ".": "a name neither begins nor ends with a dot",
    **dict.fromkeys("‘’‚‛“”„‟", "write the straight quote '"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", "remove the invisible character"),
}

_WORDS = {
    "contains": "write 'x' in tags",
    "has": "write 'x' in tags",
    "regexp": "write rlike",
    "matches": "write rlike",
    "similar": "write rlike",
    "startswith": "write like 'abc%'",
    "endswith": "write like '%abc'",
    "equals": "write =",
    "eq": "write =",
    "isnull": "write is null",
    "notnull": "write is not null",
    "isin": "write in",
    "any": "write one of",
    "one": "write one of (…)",
    "all": "write all of (…)",
    "none": "write none of (…)",
    "null": "write is null",
}

CONNECTIVES = ("and", "or", "xor", "xnor")
_OPERATOR_WORDS = (*CONNECTIVES, "not", "in", "between", "like", "ilike", "rlike", "is")


def symbol_hint(token: Token) -> str | None:
    """The hint for a symbol that has no place in the language, wherever it stands."""
    if token.text in _ARITHMETIC_SYMBOLS:
        return ARITHMETIC
    return quote_hint(token) or _SYMBOLS.get(token.text)


def quote_hint(token: Token) -> str | None:
    """The hint for a quote that opens and never closes."""
    return f"the quote {token.text[0]} that opens here is never closed" if token.kind == "unclosed" else None


def operator_hint(cursor: Cursor, attribute: str) -> str | None:
    """The hint for what stands where an attribute's operator should."""
    token = cursor.token
    clause = clause_hint(attribute)
    if clause and (token.kind in ("word", "path", "string", "number") or token.text == "*"):
        return clause
    if token.kind != "word":
        return _after_name_hint(cursor, shortened(attribute)) or symbol_hint(token)
    if token.keyword in _WORDS:
        return _WORDS[token.keyword]
    return _near(token.keyword, _OPERATOR_WORDS) or "a name with a space in it goes in backquotes"


def _after_name_hint(cursor: Cursor, attribute: str) -> str | None:
    """Brackets, hyphens and operators torn apart, behind an attribute's name."""
    token, after = cursor.token, cursor.after()
    if token.text == "[":
        field = after.text.strip("'\"")
        if after.kind in ("string", "path") and _HYPHENATED.fullmatch(field):
            return f"a field of a struct or map is written {attribute}.{shortened(field)}"
        return f"elements have no positions: to look into a list write 'x' in {attribute}"
    if token.text == "!" and after.text == "=":
        return "write != without a space"
    name = _HYPHENATED.match(cursor.text, token.start + 1)
    if token.text == "-" and name and cursor.text[token.start - 1 : token.start].strip():
        whole = f"`{attribute}-{shortened(name[0])}`"
        return f"a name with a hyphen goes in backquotes: {whole}; arithmetic is not part of the language"
    return None


_HYPHENATED = re.compile(r"[^\W\d][\w.-]*+")
_TORN = re.compile(r"([<>=!])\s+\Z")
_SEVERAL = re.compile(r"\(\s*+(?:'[^']*+'|[^\s,()']++)\s*+,")
_COMPARED = re.compile(
    r"(`[^`]++`|[^\W\d][\w.]*+)\s*+(==?|!=|<>)\s*+('[^']*+'|[^\s']++)\s++(or|and)\s*+\Z", re.IGNORECASE
)
_BEHIND = 200
"""How much of the text before a place is looked at."""


def constant_alone_hint(cursor: Cursor, start: int) -> str:
    """The hint for `x = 'US' or 'CA'`, whose second constant, from `start` on, is compared with nothing."""
    found = _COMPARED.search(cursor.text[max(0, start - _BEHIND) : start])
    if found is None:
        return CONSTANT_ALONE
    attribute, operator, first, word = found.groups()
    second = shortened(cursor.text[start : cursor.token.start].rstrip())
    listed = {"=or": "in", "==or": "in", "!=and": "not in", "<>and": "not in"}.get(operator + word.lower())
    if listed:
        return f"write {attribute} {listed} ({first}, {second})"
    return f"write {attribute} {operator} {first} {word} {attribute} {operator} {second}"


def quote_inside_hint(token: Token, behind: str) -> str | None:
    """The hint for a word right behind a closing quote, which was meant to stay open."""
    return DOUBLED_QUOTE if token.kind in ("word", "path", "misspelt", "number") and behind.endswith("'") else None


def _near(word: str, words: tuple[str, ...]) -> str | None:
    near = get_close_matches(word, words, n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else None


def connective_hint(token: Token, behind: str) -> str | None:
    """The hint for what stands where a connective should; `behind` is the text before it."""
    parenthesised = behind.rstrip().endswith(")")
    if token.text == ")":
        return "there is no ( for this )"
    if token.text == ",":
        return "conditions are joined by and, or; a list stands in parentheses"
    if token.text in COMPARISON_SYMBOLS:
        return PARENTHESES if parenthesised else CHAIN
    if token.keyword in ("in", "not", "between", "like", "ilike", "rlike"):
        return PARENTHESES if parenthesised else f"a predicate is complete before {token.keyword}"
    inside = quote_inside_hint(token, behind)
    return inside or (_near(token.keyword, CONNECTIVES) if token.keyword else symbol_hint(token))


def constant_hint(cursor: Cursor) -> str | None:
    """The hint for what stands where a constant should."""
    token = cursor.token
    if token.kind == "path":
        return _quoted_hint(token)
    if token.kind == "word":
        return _word_hint(token.keyword, cursor.after())
    if token.kind == "misspelt":
        return number_hint(token)
    if token.text == "(":
        return _parenthesised_hint(cursor)
    if token.text in COMPARISON_SYMBOLS:
        torn = _TORN.search(cursor.text, max(0, token.start - _BEHIND), token.start)
        whole = torn[1] + token.text if torn else ""
        return f"write {whole} without a space" if whole in COMPARISON_SYMBOLS else None
    return symbol_hint(token)


def _parenthesised_hint(cursor: Cursor) -> str:
    before = cursor.text[max(0, cursor.token.start - _BEHIND) : cursor.token.start].rstrip()
    if _SEVERAL.match(cursor.text, cursor.token.start) and before.endswith(("!=", "<>")):
        return "for several constants write not in (…)"
    if _SEVERAL.match(cursor.text, cursor.token.start) and before.endswith("=") and before[-2:] not in ("<=", ">="):
        return "for several constants write in (…)"
    return "a constant stands without parentheses"


def _quoted_hint(token: Token) -> str:
    if token.text[0] == '"':
        return "double quotes make a name: write a text in single quotes"
    return ATTRIBUTES


def _word_hint(keyword: str, after: Token) -> str:
    if keyword == "null":
        return NULL
    if keyword == "not":
        return "not stands before the whole comparison, or in != and not in"
    if keyword in RESERVED:
        return f"{keyword} is a keyword"
    if keyword in ("date", "timestamp") and after.kind in ("symbol", "number") and after.text != ")":
        return f"the form is {keyword} '2026-01-31', without parentheses"
    if after.text == "(":
        return function_hint(keyword)
    if keyword in ("nan", "inf", "infinity"):
        return "write cast('NaN' as double), cast('Infinity' as double) or cast('-Infinity' as double)"
    return f"{ATTRIBUTES}; a text stands in single quotes"


def number_hint(token: Token) -> str:
    """The hint for letters, underscores or dots in a number, or a name that begins with a digit."""
    if "_" in token.text and token.text.replace("_", "").isdigit():
        return "write the digits without underscores"
    return "a number has digits, one point and an exponent; a name that begins with a digit goes in backquotes"


def operand_hint(cursor: Cursor) -> str | None:
    """The hint for what stands where an operand should begin."""
    token = cursor.token
    if token.kind == "misspelt":
        return number_hint(token)
    if token.text == "~":
        return "write not"
    if token.keyword in CONNECTIVES and cursor.after().text not in COMPARISON_SYMBOLS:
        return f"an expression is missing before {token.keyword}"
    if token.kind == "word":
        return keyword_hint(token)
    if token.text in COMPARISON_SYMBOLS:
        return f"an attribute or a constant is missing before {token.text}"
    return symbol_hint(token)


def keyword_hint(token: Token) -> str:
    """The hint for a keyword that stands where a name could."""
    if token.keyword == "null":
        return "NULL is no expression: write x is null"
    return f"{token.keyword} is a keyword; as a name it goes in backquotes: `{token.text}`"

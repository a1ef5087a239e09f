"""The grammar of one predicate, token by token: complete, and the only place that explains what is wrong.

`simple.py` recognises the common predicates in one step; whatever it leaves comes here.
"""

from __future__ import annotations

from typing import Any

from matchwood.errors import InvalidArgument, ParseError
from matchwood.language import names, slips
from matchwood.language.constants import CONSTANT, read_constant, starts_constant, unquoted
from matchwood.language.function_slips import function_hint
from matchwood.language.lexer import Cursor, Token, path_keys, place_of
from matchwood.language.slips import COMPARISON_SYMBOLS
from matchwood.language.tree import TESTS, Constant, Expression, Predicate, make_predicate

OPERAND = "an attribute, a constant, not or ("
OPERATOR = "an operator"
CANONICAL = {"==": "=", "<>": "!=", **{symbol: symbol for symbol in ("=", "!=", "<", "<=", ">", ">=")}}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PATTERN_WORDS = ("like", "ilike", "rlike")
_NEGATABLE = ("in", "between", *_PATTERN_WORDS)


def read_predicate(cursor: Cursor) -> Expression:
    """The predicate, or the constant true or false, that begins at the cursor."""
    token = cursor.token
    if starts_constant(cursor):
        return _constant_first(cursor)
    if token.kind == "path" or (token.kind == "word" and token.keyword not in names.RESERVED):
        return _attribute_first(cursor)
    if token.kind == "end" and not cursor.text.strip():
        raise cursor.error("an expression", "the rule that always holds is: true")
    raise cursor.error(OPERAND, slips.operand_hint(cursor))


def _attribute(cursor: Cursor) -> str:
    """The attribute named by the token, which is a word or a quoted path."""
    token = cursor.token
    if cursor.after().text == "(" and token.kind == "word":
        raise cursor.error("an attribute", function_hint(token.keyword))
    try:
        cursor.advance()
        return names.unquoted_name(token.text) or "" if token.kind == "word" else names.join_path(path_keys(token.text))
    except InvalidArgument as error:
        raise cursor.error("a name", str(error), token) from None


def _constant_first(cursor: Cursor) -> Expression:
    """`5 < x`, `'x' in tags`, or the constants true and false as expressions."""
    start = cursor.token
    value = read_constant(cursor)
    symbol, keyword = cursor.token.text, cursor.token.keyword
    if symbol in COMPARISON_SYMBOLS:
        cursor.advance()
        return make_predicate(_right_attribute(cursor), _FLIPPED[CANONICAL[symbol]], value, None, start.start)
    if keyword == "in" or (keyword == "not" and cursor.after().keyword == "in"):
        return _membership(cursor, value, start)
    if start.keyword in ("true", "false"):
        return Constant(start.keyword == "true")
    raise _constant_alone(cursor, start)


def _membership(cursor: Cursor, value: Any, start: Token) -> Predicate:
    """`'x' [not] in tags`; the constant has been read."""
    op = "contains"
    if cursor.token.keyword == "not":
        op = "not contains"
        cursor.advance()
    cursor.advance()
    if cursor.token.text == "(":
        raise cursor.error("a list attribute", slips.TWO_CONSTANTS)
    return make_predicate(_right_attribute(cursor), op, value, None, start.start)


def _right_attribute(cursor: Cursor) -> str:
    token = cursor.token
    if starts_constant(cursor):
        raise cursor.error("an attribute", slips.TWO_CONSTANTS)
    if token.keyword == "null":
        raise cursor.error("an attribute", slips.NULL)
    if token.keyword in names.RESERVED:
        raise cursor.error("an attribute", slips.keyword_hint(token))
    if token.kind not in ("word", "path"):
        raise cursor.error("an attribute", slips.PARENTHESES if token.text == "(" else slips.symbol_hint(token))
    return _attribute(cursor)


def _constant_alone(cursor: Cursor, constant: Token) -> ParseError:
    token = cursor.token
    hint = slips.symbol_hint(token)
    if token.keyword in _PATTERN_WORDS or token.keyword in ("between", "is", "not"):
        hint = f"{token.keyword} needs an attribute at its left"
    elif token.kind == "end" or token.keyword in slips.CONNECTIVES or token.text == ")":
        hint = slips.constant_alone_hint(cursor, constant.start)
    return cursor.error("a comparison after the constant", hint)


def _attribute_first(cursor: Cursor) -> Predicate:
    start = cursor.token.start
    attr = _attribute(cursor)
    token = cursor.token
    if token.text in COMPARISON_SYMBOLS and token.kind == "symbol":
        cursor.advance()
        return make_predicate(attr, CANONICAL[token.text], read_constant(cursor), None, start)
    op, value, escape = _word_operator(cursor, attr)
    return make_predicate(attr, op, value, escape, start)


def _word_operator(cursor: Cursor, attr: str) -> tuple[str, Any, str | None]:
    """The operator, value and escape that follow an attribute; `= true` if none does."""
    keyword = cursor.token.keyword
    if keyword in _NEGATABLE:
        return _negatable(cursor, "")
    if keyword == "not":
        return _negated(cursor)
    if keyword == "is":
        return _null_test(cursor)
    if keyword in ("one", "all", "none") and cursor.after().keyword == "of":
        cursor.advance()
        cursor.advance()
        return f"{keyword} of", _constants(cursor, f"{keyword} of"), None
    if keyword in slips.CONNECTIVES or cursor.token.kind == "end" or cursor.token.text == ")":
        return "=", True, None
    raise cursor.error(OPERATOR, slips.operator_hint(cursor, attr))


def _negated(cursor: Cursor) -> tuple[str, Any, str | None]:
    cursor.advance()
    keyword = cursor.token.keyword
    if keyword in _NEGATABLE:
        return _negatable(cursor, "not ")
    hint = None
    if keyword == "null":
        hint = "write is not null"
    elif keyword in ("one", "all", "none"):
        hint = f"put not before the attribute: not tags {keyword} of (…)"
    elif cursor.token.text in COMPARISON_SYMBOLS:
        hint = "write != for not equal, or put not before the attribute"
    raise cursor.error("in, between, like, ilike or rlike", hint)


def _negatable(cursor: Cursor, prefix: str) -> tuple[str, Any, str | None]:
    """What may stand after `not`: in, between and the patterns."""
    keyword = cursor.advance().keyword
    if keyword == "in":
        return f"{prefix}in", _constants(cursor, "in"), None
    if keyword == "between":
        return f"{prefix}between", _range(cursor), None
    pattern = _pattern(cursor, keyword)
    return prefix + keyword, pattern, _escape(cursor, keyword)


def _null_test(cursor: Cursor) -> tuple[str, Any, str | None]:
    """`is [not] null`; before `is [not] true | false | unknown` the attribute is a bare boolean."""
    after = Cursor(cursor.text, cursor.after())
    negated = after.token.keyword == "not"
    if negated:
        after.advance()
    if after.token.keyword == "null":
        after.advance()
        cursor.token = after.token
        return ("is not null" if negated else "is null"), None, None
    if after.token.keyword in TESTS:
        return "=", True, None
    hint = "to compare with a constant write = or !=" if starts_constant(after) else slips.symbol_hint(after.token)
    if after.token.keyword == "distinct":
        hint = "write x = 5, and x is null for NULL" if negated else "write (x = 5) is not true"
    raise after.error("null, true, false or unknown", hint)


def _range(cursor: Cursor) -> tuple[Any, Any]:
    low = read_constant(cursor)
    if cursor.token.keyword != "and":
        raise cursor.error("and", "the form is: x between 1 and 5")
    cursor.advance()
    return low, read_constant(cursor)


def _pattern(cursor: Cursor, keyword: str) -> str:
    token = cursor.token
    if token.kind == "string":
        return unquoted(cursor.advance())
    if starts_constant(cursor):
        raise cursor.error("a pattern in single quotes", f"{keyword} takes a text")
    hint = slips.quote_hint(token)
    if token.kind == "path" and token.text[0] == '"':
        hint = "double quotes make a name: write a text in single quotes"
    elif token.kind in ("word", "path"):
        hint = "a pattern is a constant, not an attribute"
    raise cursor.error("a pattern in single quotes", hint)


def _escape(cursor: Cursor, keyword: str) -> str | None:
    if cursor.token.keyword != "escape":
        return None
    if keyword == "rlike":
        raise cursor.error("the end of the predicate", "rlike escapes with a backslash inside the pattern")
    cursor.advance()
    token = cursor.token
    character = unquoted(token) if token.kind == "string" else ""
    if len(character) != 1:
        raise cursor.error("one character in single quotes", "the form is: like '50!%' escape '!'")
    cursor.advance()
    return character


def _constants(cursor: Cursor, operator: str) -> tuple[Any, ...]:
    """A list of constants in parentheses."""
    if cursor.token.text != "(":
        raise cursor.error("(", _no_list_hint(cursor, operator))
    opening = cursor.advance()
    if cursor.token.text == ")":
        raise cursor.error(CONSTANT, f"{operator} () is empty: a list has at least one constant")
    constants = [_element(cursor, operator)]
    while cursor.token.text == ",":
        cursor.advance()
        constants.append(_element(cursor, operator))
    if cursor.token.text != ")":
        raise cursor.error(", or )", _unclosed_list_hint(cursor, opening))
    cursor.advance()
    return tuple(constants)


def _element(cursor: Cursor, operator: str) -> Any:
    if cursor.token.keyword == "null":
        alone = "nothing equals NULL: write x is null or x in (…)"
        raise cursor.error(CONSTANT, alone if operator == "in" else "NULL is never an element of a list: leave it out")
    if cursor.token.keyword == "select":
        raise cursor.error(CONSTANT, "subqueries are not part of the language")
    if cursor.token.text == ")":
        raise cursor.error(CONSTANT, "remove the comma before )")
    return read_constant(cursor)


def _no_list_hint(cursor: Cursor, operator: str) -> str | None:
    token = cursor.token
    if starts_constant(cursor):
        return f"the form is: {operator} (1, 2)"
    if token.kind in ("word", "path") and operator == "in":
        return "a list of constants stands in parentheses; to look into a list attribute write 'x' in tags"
    return slips.symbol_hint(token)


def _unclosed_list_hint(cursor: Cursor, opening: Token) -> str | None:
    token = cursor.token
    if token.kind == "end":
        return f"the ( at {place_of(cursor.text, opening.start)} is not closed"
    if starts_constant(cursor) and token.kind != "symbol":
        return "constants are separated by commas"
    return slips.quote_inside_hint(token, cursor.text[: token.start]) or slips.symbol_hint(token)

"""The rules of the parsing benchmark read by parser libraries, into the same trees with the same positions.

Each reader covers what `parse.py` generates (comparisons, in, between, like, not, and, xor, or, parentheses), and
builds nodes through the constructors that Matchwood's own parser uses, so that the difference is the reading alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from matchwood.language import And, Expression, Not, Or, Predicate, Xor, make_operator, make_predicate

Reader = Callable[[str], Expression]


def _joined(kind: type[Expression], operands: list[Expression]) -> Expression:
    return operands[0] if len(operands) == 1 else make_operator(kind, tuple(operands))


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _predicate(attr: str, op: str, value: Any, position: int) -> Predicate:
    return make_predicate(str(attr), " ".join(str(op).split()), value, None, position)


_LARK = r"""
start: either
?either: one ("or" one)*
?one: both ("xor" both)*
?both: term ("and" term)*
?term: "not" term -> negation | "(" either ")" | predicate
predicate: NAME SYMBOL literal -> one_value
         | NAME IN "(" literal ("," literal)* ")" -> several
         | NAME BETWEEN literal "and" literal -> several
         | NAME LIKE literal -> one_value
?literal: NUMBER | STRING
IN.2: /(not\s+)?in\b/
BETWEEN.2: /(not\s+)?between\b/
LIKE.2: /(not\s+)?like\b/
SYMBOL: /<=|>=|!=|=|<|>/
NAME: /[A-Za-z_]\w*/
NUMBER: /-?[0-9]+(\.[0-9]+)?/
STRING: /'[^']*'/
%ignore /\s+/
"""


def lark_reader() -> Reader:
    """LALR(1) with its contextual lexer, and the tree built while parsing: the fastest that Lark offers."""
    import lark

    class Build(lark.Transformer):  # type: ignore[misc, type-arg, unused-ignore]
        def start(self, parts: list[Any]) -> Any:
            return parts[0]

        def either(self, parts: list[Any]) -> Any:
            return _joined(Or, parts)

        def one(self, parts: list[Any]) -> Any:
            return _joined(Xor, parts)

        def both(self, parts: list[Any]) -> Any:
            return _joined(And, parts)

        def negation(self, parts: list[Any]) -> Any:
            return make_operator(Not, (parts[0],))

        def one_value(self, parts: list[Any]) -> Any:
            return _predicate(parts[0], parts[1], parts[2], parts[0].start_pos)

        def several(self, parts: list[Any]) -> Any:
            return _predicate(parts[0], parts[1], tuple(parts[2:]), parts[0].start_pos)

        def NUMBER(self, token: Any) -> int | float:  # noqa: N802
            return _number(token)

        def STRING(self, token: Any) -> str:  # noqa: N802
            return str(token[1:-1])

    return lark.Lark(_LARK, parser="lalr", transformer=Build()).parse  # type: ignore[no-any-return, return-value, unused-ignore]


def _joining(kind: type[Expression]) -> Callable[[Any], Expression]:
    return lambda tokens: _joined(kind, list(tokens))


def pyparsing_reader() -> Reader:
    """Combinators, with regular expressions for whole tokens and memoisation off (it is slower here)."""
    import pyparsing as pp

    name = pp.Regex(r"(?!(?:and|or|xor|not|in|between|like)\b)[A-Za-z_]\w*")
    number = pp.Regex(r"-?[0-9]+(\.[0-9]+)?").add_parse_action(lambda tokens: _number(tokens[0]))
    text = pp.Regex(r"'[^']*'").add_parse_action(lambda tokens: tokens[0][1:-1])
    literal = number | text
    items = pp.Suppress("(") + literal + (pp.Suppress(",") + literal)[...] + pp.Suppress(")")
    single = name + pp.Regex(r"<=|>=|!=|=|<|>|(not\s+)?like\b") + literal
    several = name + pp.Regex(r"(not\s+)?in\b") + items
    ranged = name + pp.Regex(r"(not\s+)?between\b") + literal + pp.Suppress(pp.Keyword("and")) + literal
    single.add_parse_action(lambda _, place, tokens: _predicate(tokens[0], tokens[1], tokens[2], place))
    for form in (several, ranged):
        form.add_parse_action(lambda _, place, tokens: _predicate(tokens[0], tokens[1], tuple(tokens[2:]), place))
    either = pp.Forward()
    term = pp.Forward()
    negation = pp.Suppress(pp.Keyword("not")) + term
    negation.add_parse_action(lambda tokens: make_operator(Not, (tokens[0],)))
    term <<= negation | (pp.Suppress("(") + either + pp.Suppress(")")) | single | several | ranged
    level: Any = term
    for word, kind in (("and", And), ("xor", Xor), ("or", Or)):
        chain = level + (pp.Suppress(pp.Keyword(word)) + level)[...]
        chain.add_parse_action(_joining(kind))
        level = chain
    either <<= level
    return lambda rule: either.parse_string(rule, parse_all=True)[0]


_PARSIMONIOUS = r"""
either = one (~r"\s+or\b\s*" one)*
one = both (~r"\s+xor\b\s*" both)*
both = term (~r"\s+and\b\s*" term)*
term = negation / group / several / ranged / single
negation = ~r"not\b\s*" term
group = ~r"\(\s*" either ~r"\s*\)"
single = name ~r"\s*" operator ~r"\s*" literal
operator = ~r"<=|>=|!=|=|<|>|(not\s+)?like\b"
several = name ~r"\s+" membership ~r"\s*\(\s*" literal (~r"\s*,\s*" literal)* ~r"\s*\)"
membership = ~r"(not\s+)?in\b"
ranged = name ~r"\s+" range ~r"\s+" literal ~r"\s+and\s+" literal
range = ~r"(not\s+)?between\b"
literal = ~r"-?[0-9]+(\.[0-9]+)?|'[^']*'"
name = ~r"(?!(?:and|or|xor|not|in|between|like)\b)[A-Za-z_]\w*"
"""


def parsimonious_reader() -> Reader:
    """A packrat parser and its visitor."""
    parsimonious: Any = importlib.import_module("parsimonious")

    class Build(parsimonious.NodeVisitor):  # type: ignore[misc]
        def _chain(self, kind: type[Expression], parts: list[Any]) -> Expression:
            return _joined(kind, [parts[0], *(pair[1] for pair in parts[1])])

        def visit_either(self, _: Any, parts: list[Any]) -> Any:
            return self._chain(Or, parts)

        def visit_one(self, _: Any, parts: list[Any]) -> Any:
            return self._chain(Xor, parts)

        def visit_both(self, _: Any, parts: list[Any]) -> Any:
            return self._chain(And, parts)

        def visit_term(self, _: Any, parts: list[Any]) -> Any:
            return parts[0]

        def visit_negation(self, _: Any, parts: list[Any]) -> Any:
            return make_operator(Not, (parts[1],))

        def visit_group(self, _: Any, parts: list[Any]) -> Any:
            return parts[1]

        def visit_single(self, node: Any, parts: list[Any]) -> Any:
            return _predicate(parts[0], parts[2], parts[4], node.start)

        def visit_several(self, node: Any, parts: list[Any]) -> Any:
            return _predicate(parts[0], parts[2], (parts[4], *(pair[1] for pair in parts[5])), node.start)

        def visit_ranged(self, node: Any, parts: list[Any]) -> Any:
            return _predicate(parts[0], parts[2], (parts[4], parts[6]), node.start)

        def visit_literal(self, node: Any, _: Any) -> Any:
            return node.text[1:-1] if node.text[0] == "'" else _number(node.text)

        def generic_visit(self, node: Any, parts: list[Any]) -> Any:
            # A repetition that took nothing has no children, like a token; its rule has no name of its own.
            return parts if parts else [] if not node.text else node.text

    grammar, build = parsimonious.Grammar(_PARSIMONIOUS), Build()
    return lambda rule: build.visit(grammar.parse(rule))


RIVALS: dict[str, Callable[[], Reader]] = {
    "lark": lark_reader,
    "pyparsing": pyparsing_reader,
    "parsimonious": parsimonious_reader,
}

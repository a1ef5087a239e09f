"""The Boolean structure of a rule: not, and, xor, xnor, or, parentheses and truth tests, without recursion.

One pass from left to right. Each open parenthesis has a `_OpenGroup` on a stack, which gathers operands by how
tightly their operators bind; so a text is read in linear time at any depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from matchwood.errors import InvalidArgument, LimitExceeded, kind_in_words
from matchwood.language import slips
from matchwood.language.jsonform import from_json
from matchwood.language.lexer import Cursor, Token, error_at, place_of, read_token
from matchwood.language.limits import MAX_DEPTH, MAX_TEXT
from matchwood.language.names import has_surrogate
from matchwood.language.predicates import read_predicate
from matchwood.language.simple import CONNECTIVE, PREFIX, SIMPLE, read_simple
from matchwood.language.tree import TESTS, And, Expression, Not, Or, Predicate, Truth, Xnor, Xor, make_operator

_CHAINS = {"xor": Xor, "xnor": Xnor}


def parse(source: str | Mapping[str, Any] | Expression) -> Expression:
    """The expression that a rule's text says; JSON (as text or a mapping) and expressions are taken as well.

    >>> parse("age >= 18 and country in ('US', 'CA')").operands[0].op
    '>='
    """
    if isinstance(source, str):
        return from_json(source) if is_json(source) else parse_text(source)
    if isinstance(source, Mapping):
        return from_json(source)
    if hasattr(source, "as_expression"):
        return source.as_expression()
    raise InvalidArgument(f"a rule must be text, JSON or an Expression (got {source!r}, {kind_in_words(source)})")


def is_json(text: str) -> bool:
    """Whether a rule's text is its JSON form: no expression begins with a brace."""
    return text[:1] == "{" or (text[:1].isspace() and text.lstrip()[:1] == "{")


def parse_text(text: str, *, limit: int = MAX_TEXT, simple: bool = True) -> Expression:
    """The expression that a text says.

    The common ones are read in one step, or, unless `simple`, token by token as all others are.
    """
    if len(text) > limit:
        raise LimitExceeded(f"the text has {len(text):,} characters; the limit is {limit:,}")
    if not text.isascii() and has_surrogate(text):
        _refuse_surrogate(text)
    root = _RuleParser(text).run(simple)
    if len(text) > MAX_DEPTH:
        _check_depth(root)
    return root


def read_whole(text: str) -> Predicate:
    """The predicate that a text is, in one step where it is a common one; a ParseError if it is anything else."""
    found = SIMPLE.match(text)
    if found is not None and found.end() == len(text) and found[CONNECTIVE] is None and not found[PREFIX]:
        predicate = read_simple(found)
        if predicate is not None:
            return predicate
    expression = parse_text(text, simple=False)
    if isinstance(expression, Predicate):
        return expression
    raise error_at(text, read_token(text, 0), "a predicate")


def _refuse_surrogate(text: str) -> NoReturn:
    start = next(place for place, character in enumerate(text) if "\ud800" <= character <= "\udfff")
    token = Token("other", text[start], start, start + 1, "")
    raise error_at(text, token, "a character", "half a surrogate pair is no character")


class _OpenGroup:
    """What has been read between one pair of parentheses."""

    __slots__ = ("base", "chain", "chain_word", "conjuncts", "disjuncts", "nots", "opening")

    def __init__(self, opening: int, base: int) -> None:
        self.opening = opening
        self.base = base
        self.nots = 0
        self.conjuncts: list[Expression] = []
        self.chain: list[Expression] = []
        self.chain_word = ""
        self.disjuncts: list[Expression] = []

    def join(self, word: str, node: Expression) -> None:
        """`node` is complete, and `word` follows it."""
        if self.nots:
            node = self._negated(node)
        if word == "and":
            self.conjuncts.append(node)
        elif word == "or":
            self.disjuncts.append(self._chained(self._conjunction(node)))
        else:
            self._link(word, self._conjunction(node))

    def close(self, node: Expression) -> Expression:
        """`node` is complete, and the group ends behind it."""
        if self.nots:
            node = self._negated(node)
        return self._closed(Or, self.disjuncts, self._chained(self._conjunction(node)))

    def _negated(self, node: Expression) -> Expression:
        for _ in range(self.nots):
            node = make_operator(Not, (node,))
        self.nots = 0
        return node

    def _conjunction(self, node: Expression) -> Expression:
        if not self.conjuncts:
            return node
        before, self.conjuncts = self.conjuncts, []
        return self._closed(And, before, node)

    def _chained(self, node: Expression) -> Expression:
        if not self.chain:
            return node
        before, self.chain = self.chain, []
        return self._closed(_CHAINS[self.chain_word], before, node)

    def _link(self, word: str, node: Expression) -> None:
        """xor and xnor bind equally, from left to right; a run of the same word is one node."""
        if self.chain and self.chain_word != word:
            node = self._chained(node)
        self.chain.append(node)
        self.chain_word = word

    @staticmethod
    def _closed(kind: type[Expression], before: list[Expression], node: Expression) -> Expression:
        if not before:
            return node
        before.append(node)
        return make_operator(kind, tuple(before))


class _RuleParser:
    """The state of one pass over one text: the groups that are open, and the operand just read."""

    __slots__ = ("group", "groups", "node", "position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.node: Expression | None = None
        self.group = _OpenGroup(opening=-1, base=0)
        self.groups: list[_OpenGroup] = []

    def run(self, simple: bool) -> Expression:
        """Whole predicates while there are simple ones, otherwise one token at a time."""
        while True:
            if simple:
                self._simple_predicates()
            if self.position == len(self.text) and self.node is not None and not self.groups:
                return self.group.close(self.node)
            token = read_token(self.text, self.position)
            if self.node is None:
                self._operand(token)
            else:
                self._after_operand(token)

    def _simple_predicates(self) -> None:
        """As many simple predicates as follow each other: the loop in which rules spend their time."""
        text, node, position, match = self.text, self.node, self.position, SIMPLE.match
        group, groups = self.group, self.groups
        while (found := match(text, position)) is not None:
            word = found[CONNECTIVE]
            # A connective stands before this predicate exactly when an operand stands before that.
            if (word is None) is not (node is None):
                break
            predicate = read_simple(found)
            if predicate is None:
                break
            if node is not None:
                if word == "and" and not group.nots:
                    group.conjuncts.append(node)
                else:
                    group.join(word.lower(), node)
            if prefix := found[PREFIX]:
                self._open(prefix, found.start(PREFIX))
                group = self.group
            node, position = predicate, found.end()
            while groups and text.startswith(")", position):
                node = self._leave(node)
                group = self.group
                position += 1
        self.node, self.position = node, position

    def _open(self, prefix: str, start: int) -> None:
        """A run of `(` and `not` before an operand."""
        for offset, character in enumerate(prefix, start):
            if character == "(":
                self._enter(offset)
            elif character in "nN":
                self._negate(offset)

    def _operand(self, token: Token) -> None:
        """Where an operand begins: a parenthesis, a `not`, or a predicate."""
        self.position = token.end
        if token.text == "(":
            self._enter(token.start)
        elif token.keyword == "not":
            self._negate(token.start)
        else:
            cursor = Cursor(self.text, token)
            self.node = read_predicate(cursor)
            self.position = cursor.token.start

    def _enter(self, start: int) -> None:
        deeper = _OpenGroup(start, self._deeper(start))
        self.groups.append(self.group)
        self.group = deeper

    def _leave(self, node: Expression) -> Expression:
        closed = self.group.close(node)
        self.group = self.groups.pop()
        return closed

    def _negate(self, start: int) -> None:
        self._deeper(start)
        self.group.nots += 1

    def _deeper(self, start: int) -> int:
        depth = self.group.base + self.group.nots + 1
        if depth > MAX_DEPTH:
            place = place_of(self.text, start)
            raise LimitExceeded(f"{place}: more than {MAX_DEPTH:,} parentheses and nots are open")
        return depth

    def _after_operand(self, token: Token) -> None:
        """Where an operand has ended: a connective, a truth test, a parenthesis, or space before the end."""
        assert self.node is not None
        self.position = token.end
        if token.keyword in slips.CONNECTIVES:
            self.group.join(token.keyword, self.node)
            self.node = None
        elif token.keyword == "is":
            self.node = self._truth(self.node, token)
        elif token.text == ")" and self.groups:
            self.node = self._leave(self.node)
        elif token.kind != "end" or self.groups:
            self._refuse(token)

    def _truth(self, node: Expression, token: Token) -> Truth:
        """`is [not] true | false | unknown` behind any operand."""
        token = read_token(self.text, token.end)
        negated = token.keyword == "not"
        if negated:
            token = read_token(self.text, token.end)
        if token.keyword not in TESTS:
            null = "only an attribute is null: for an expression write is unknown"
            hint = null if token.keyword == "null" else None
            raise error_at(self.text, token, "true, false or unknown", hint)
        self.position = token.end
        return Truth(node, token.keyword, negated)

    def _refuse(self, token: Token) -> NoReturn:
        """What stands behind a complete operand joins it to nothing."""
        closing = ")" if self.groups else "the end of the text"
        if token.kind == "end":
            opening = place_of(self.text, self.group.opening)
            raise error_at(self.text, token, ")", f"the ( at {opening} is not closed")
        hint = slips.connective_hint(token, self.text[: token.start])
        raise error_at(self.text, token, f"and, or, xor, xnor or {closing}", hint)


def _check_depth(root: Expression) -> None:
    """Truth tests and alternating xor, xnor nest without parentheses; a short text cannot nest deep."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise LimitExceeded(f"the expression nests more than {MAX_DEPTH:,} operators")
        stack.extend((operand, depth + 1) for operand in node.operands)

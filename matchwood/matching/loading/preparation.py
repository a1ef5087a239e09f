"""One rule from what was handed over to what the engines can take, or an error that says why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from matchwood.encoding import Encoder, Schema, Use
from matchwood.errors import CorruptSnapshot, InvalidArgument, MatchwoodError, ParseError, kind_in_words
from matchwood.language import Attribute, Expression, has_surrogate, in_source, parse
from matchwood.logic import Bind, Clauses, Conjunction, Form
from matchwood.ranking import RuleWeights, StatedWeights, check_caps, check_values, checked_weights

Normal: TypeAlias = list[Conjunction] | Clauses | Form
"""What a rule becomes: any of some conjunctions, all of some clauses, or the whole expression."""


class PreparedRule(NamedTuple):
    """A rule that has passed every check: its text as given, the types it needs, its normal form, its tree."""

    text: str
    uses: list[Use]
    normal: Normal
    weights: StatedWeights
    tree: Expression


class Preparation:
    """Prepares rules for one index: parse, check the types, bind, normalise. Changes nothing.

    `normal`  what a rule becomes: the matcher's own
    `schema`  the types that rules are held against: the encoder's own, or a copy that knows of rules to come
    `given`   bounds that no weight may be above
    """

    def __init__(
        self,
        encoder: Encoder,
        normal: Callable[[Expression, Bind], Normal],
        schema: Schema | None = None,
        weight_caps: RuleWeights | None = None,
    ) -> None:
        self.schema = encoder.schema if schema is None else schema
        self._encoder, self._normal, self._weight_caps = encoder, normal, weight_caps

    def prepare(
        self, rule_id: Any, source: Any, options: Mapping[str, Any] | None = None, replaced: Iterable[Use] = ()
    ) -> PreparedRule:
        """A rule that agrees with all others; `replaced` are the uses of the rule that gives way to it."""
        weights = checked_weights(options)
        expression = as_expression(source)
        text, uses = _as_text(source, expression), self.schema.check(expression, rule_id, replaced)
        try:
            bind = self._encoder.bound(expression)
            normal = self._normal(expression, bind)
        except ParseError as error:
            # A pattern is read only now; its errors point at the rule's text where there is one.
            raise (in_source(error, expression, source) if isinstance(source, str) else error) from None
        if "{" in weights.by_attribute[1:]:
            check_values(expression, weights.by_attribute, bind)
        if self._weight_caps:
            check_caps(expression, RuleWeights(weights.by_attribute), self._weight_caps, bind)
        return PreparedRule(text, uses, normal, weights, expression)


def as_expression(source: Any) -> Expression:
    """The tree of a rule given as text, JSON or an Expression."""
    if isinstance(source, Attribute):
        return source.as_expression()
    if isinstance(source, str | Mapping | Expression):
        return parse(source)
    raise InvalidArgument(f"a rule must be text, JSON or an Expression (got {source!r:.80}, {kind_in_words(source)})")


def _as_text(source: Any, expression: Expression) -> str:
    """The text to keep: as given where it was text, otherwise what parses back to the same tree."""
    text = str(source) if isinstance(source, str) else str(expression)
    if not text.isascii() and has_surrogate(text):
        raise InvalidArgument("a rule's text holds a lone surrogate, which UTF-8 cannot store: remove it")
    return text


def stored_uses(schema: Schema, text: str) -> list[Use]:
    """What a live rule asks of its attributes; the table keeps its text only."""
    try:
        return schema.requirements(parse(text))
    except MatchwoodError as error:
        raise CorruptSnapshot(f"the text of a rule is damaged ({error}): {text!r:.80}") from error

"""One rule from what was handed over to what the engines can take, or an error that says why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from matchwood.encoding import Encoder
from matchwood.errors import InvalidArgument
from matchwood.indexing.weights import Weights, checked_weights
from matchwood.language import Expression, parse
from matchwood.logic import Conjunction, Form, dnf_of


class Prepared(NamedTuple):
    """A rule that has passed every check: its text as given, the types it needs, its normal form."""

    text: str
    uses: list[tuple[str, str]]
    normal: list[Conjunction] | Form
    weights: Weights


def prepare(
    encoder: Encoder, dnf_limit: int, rule_id: Any, source: Any, options: Mapping[str, Any] | None = None
) -> Prepared:
    """Parse, check the types against the live rules, and normalise. Changes nothing."""
    weights = checked_weights(options)
    expression = as_expression(source)
    uses = encoder.schema.check(expression, rule_id)
    return Prepared(as_text(source, expression), uses, dnf_of(expression, encoder.bind, dnf_limit), weights)


def as_expression(source: Any) -> Expression:
    """The tree of a rule given as text, JSON or an Expression."""
    if isinstance(source, str | Mapping | Expression):
        return parse(source)
    raise InvalidArgument(f"a rule must be text, JSON or an Expression (got {source!r:.80}, a {type(source).__name__})")


def as_text(source: Any, expression: Expression) -> str:
    """The text to keep: as given where it was text, otherwise what parses back to the same tree."""
    if isinstance(source, str):
        return source
    return str(expression)


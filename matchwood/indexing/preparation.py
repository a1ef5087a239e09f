"""One rule from what was handed over to what the engines can take, or an error that says why not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from matchwood.encoding import Encoder, Use, requirement
from matchwood.errors import InvalidArgument
from matchwood.indexing.weights import Weights, checked_weights
from matchwood.language import Expression, Predicate, parse, postorder
from matchwood.logic import Conjunction, Form, dnf_of


class Prepared(NamedTuple):
    """A rule that has passed every check: its text as given, the types it needs, its normal form."""

    text: str
    uses: list[Use]
    normal: list[Conjunction] | Form
    weights: Weights


def prepare(
    encoder: Encoder,
    dnf_limit: int,
    rule_id: Any,
    source: Any,
    options: Mapping[str, Any] | None = None,
    replaced: str | None = None,
) -> Prepared:
    """Parse, check the types against the live rules (but `replaced`, the text to give way), and normalise. Changes nothing."""
    weights = checked_weights(options)
    expression = as_expression(source)
    uses = encoder.schema.check(expression, rule_id, () if replaced is None else uses_of(replaced))
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



def uses_of(text: str) -> list[Use]:
    """What a live rule asks of its attributes; the table keeps its text only."""
    uses: dict[str, str] = {}
    for node in postorder(parse(text)):
        if isinstance(node, Predicate):
            kind = requirement(node)
            if kind != "any":
                uses[node.attr] = kind
            else:
                uses.setdefault(node.attr, kind)
    return list(uses.items())

"""Weight caps, for a whole index: the most that any rule may weigh at an attribute, or at one of its values.

They are spelled as the weights of a rule are. An index that has them holds every rule against them, and prunes by them:
what a list promises then never rises, however heavy the rules are that come later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from matchwood.errors import InvalidArgument
from matchwood.language import LIST_OPERATORS, Expression, Predicate, postorder
from matchwood.logic import Bind, intersection
from matchwood.ranking.rule_weights import SCORING, ByValue, RuleWeights, values_of
from matchwood.ranking.trees import classes_of


def check_caps(expression: Expression, weights: RuleWeights, caps: RuleWeights, bind: Bind) -> None:
    """Refuse a rule one of whose predicates may weigh more than its attribute's bound."""
    for predicate in postorder(expression):
        if isinstance(predicate, Predicate) and predicate.op in SCORING and predicate.attr in caps:
            for weight, bound in _pairs(predicate, weights.of(predicate.attr), caps.of(predicate.attr), bind):
                if weight > bound:
                    said = f"a predicate on {predicate.attr!r} weighs {weight:g}, above the bound {bound:g}"
                    raise InvalidArgument(
                        f"{said} that the index was given: weigh it less, or give a greater bound (a predicate "
                        "without a weight weighs 1)"
                    )


def _pairs(
    predicate: Predicate, weight: float | ByValue, bound: float | ByValue, bind: Bind
) -> Iterator[tuple[float, float]]:
    """What the predicate may weigh, and the bound there."""
    bound_to = bind(predicate)
    accepted = bound_to.cuts
    if bound_to.attribute == predicate.attr:
        sides = [
            classes_of(accepted, values_of(predicate, side, bind)) if isinstance(side, Mapping) else [(accepted, side)]
            for side in (weight, bound)
        ]
        return ((heavy, most) for cuts, heavy in sides[0] for there, most in sides[1] if intersection(cuts, there))
    texts = {text: None for side in (weight, bound) if isinstance(side, Mapping) for text in side}
    if predicate.op in LIST_OPERATORS:
        wanted = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
        return ((_at(weight, str(each)), _at(bound, str(each))) for each in wanted)
    return ((_at(weight, text), _at(bound, text)) for text in (*texts, None))


def _at(side: float | ByValue, text: str | None) -> float:
    """The weight of a value; of one that is not named without a text."""
    if not isinstance(side, Mapping):
        return side
    return 1.0 if text is None else side.get(text, 1.0)

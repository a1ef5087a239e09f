"""The weights that a rule may carry: checked once, kept as compact JSON, used by ranking."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from matchwood.errors import InvalidArgument
from matchwood.indexing.sources import parse_weights


class Weights(NamedTuple):
    """The constant added to a rule's score, and its weights by attribute or value as JSON text."""

    constant: float = 0.0
    by_attribute: str = ""


def checked_weights(options: Mapping[str, Any] | None) -> Weights:
    """The weights in a rule's options; anything that is not finite and at least 0 is refused."""
    if not options:
        return Weights()
    unknown = sorted(set(options) - {"weight", "weights"})
    if unknown:
        raise InvalidArgument(f"a rule has no option {unknown[0]!r} (its options: weight, weights)")
    constant = options.get("weight")
    weights = options.get("weights")
    if isinstance(weights, str):
        weights = parse_weights(weights)
    return Weights(0.0 if constant is None else _number("weight", constant), _attribute_weights(weights))


def _attribute_weights(weights: Any) -> str:
    if weights is None:
        return ""
    if not isinstance(weights, Mapping):
        raise InvalidArgument(f"weights must map attributes to weights (got {weights!r:.80})")
    checked = {str(name): _one_attribute(str(name), value) for name, value in weights.items()}
    return json.dumps(checked, ensure_ascii=False, sort_keys=True) if checked else ""


def _one_attribute(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _number(f"weights[{name!r}][{key!r}]", weight) for key, weight in value.items()}
    return _number(f"weights[{name!r}]", value)


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) and not hasattr(value, "__float__"):
        raise InvalidArgument(f"{what} must be a number (got {value!r:.80}, a {type(value).__name__})")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InvalidArgument(f"{what} must be finite and at least 0 (got {value!r:.80})")
    return number

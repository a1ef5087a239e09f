"""The weights that a rule may carry: checked once, kept as compact JSON, used by ranking."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from matchwood.errors import InvalidArgument, kind_in_words
from matchwood.language import has_surrogate
from matchwood.ranking import RuleWeights

OPTIONS = ("weight", "weights")


class StatedWeights(NamedTuple):
    """The constant added to a rule's score, and its weights by attribute or value as JSON text."""

    constant: float = 0.0
    by_attribute: str = ""


_NONE = StatedWeights()


def checked_weights(options: Mapping[str, Any] | None) -> StatedWeights:
    """The weights in a rule's options; anything that is not finite and at least 0 is refused.

    >>> checked_weights({"weight": 2, "weights": {"state": {"NY": 4.0}, "age": 0.1}})
    StatedWeights(constant=2.0, by_attribute='{"age": 0.1, "state": {"NY": 4.0}}')
    """
    if options is None:
        return _NONE
    if not isinstance(options, Mapping):
        raise InvalidArgument(f"a rule's options must be a dict with {_options()} (got {options!r:.80})")
    unknown = sorted(str(name) for name in options if name not in OPTIONS)
    if unknown:
        raise InvalidArgument(f"a rule has no option {unknown[0]!r} (its options: {_options()})")
    constant, weights = options.get("weight"), options.get("weights")
    return StatedWeights(0.0 if constant is None else checked_number("weight", constant), _attribute_weights(weights))


def _options() -> str:
    return ", ".join(OPTIONS)


def _attribute_weights(weights: Any) -> str:
    """The weights as JSON with sorted keys; they may come as JSON text, as they do in tables."""
    if weights is None:
        return ""
    if isinstance(weights, str):
        weights = _parsed(weights)
    if not isinstance(weights, Mapping):
        raise InvalidArgument(f"weights must map attributes to weights (got {weights!r:.80})")
    checked = {_name(name): _one_attribute(str(name), value) for name, value in weights.items()}
    return json.dumps(checked, ensure_ascii=False, sort_keys=True) if checked else ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f'weights must be JSON like {{"state": {{"NY": 4.0}}}} ({error})') from None


def _one_attribute(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_name(key): checked_number(f"weights[{name!r}][{key!r}]", weight) for key, weight in value.items()}
    return checked_number(f"weights[{name!r}]", value)


def _name(name: object) -> str:
    """A key as JSON has it: values that are not text are spelled as JSON spells them."""
    text = name if isinstance(name, str) else _spelled(name)
    if has_surrogate(text):
        raise InvalidArgument(f"weights: the name {text!r:.80} holds a lone surrogate, which UTF-8 cannot store")
    return text


def _spelled(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return str(value)


def checked_number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | np.integer | np.floating):
        raise InvalidArgument(f"{what} must be a number (got {value!r:.80}, {kind_in_words(value)})")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.inf
    if not (math.isfinite(number) and number >= 0):
        raise InvalidArgument(f"{what} must be finite and at least 0 (got {value!r:.80})")
    return number + 0.0


def caps_of(bounds: Any) -> RuleWeights:
    """The weight caps that an engine has as its option `bounds`, spelled as the weights of a rule are."""
    try:
        return RuleWeights(_attribute_weights(bounds))
    except InvalidArgument as error:
        raise InvalidArgument(f"option 'bounds': {error}") from None

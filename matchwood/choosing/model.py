"""How long each engine should take for an event, and to be built: sums of a few terms, each with a fitted weight.

The weights are in `coefficients.json`, which `python -m matchwood.bench.auto.fit` writes. They are at least 0, so that
no prediction falls where rules grow, and are fitted to relative errors: 10% of a microsecond counts as 10% of a second.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.choosing.features import Features
from matchwood.engines import FIRST_ENGINE, GROUPED, engine_class, engine_names, union_us

TERMS = (
    "event",
    "pairs",
    "units",
    "all_constraints",
    "pairs_units",
    "satisfied",
    "candidates",
    "narrowed",
    "hits",
    "violated",
    "always",
    "far_units",
    "far_satisfied",
    "far_candidates",
    "far_hits",
)
"""What predictions are sums of; `far_…` is a quantity times its distance from the processor."""

BUILD_TERMS = ("index", "units", "all_constraints", "far_constraints")


LEAST_OFTEN = 256
"""Fewer rules that match often are not worth a group of their own."""

MARGINS = (0.9, 0.7, 0.5, 0.35, 0.2, 0.0)
"""Before any event is known, predictions err by a factor; by a larger one for some engines than for others."""


class Model(NamedTuple):
    """Weights by engine: microseconds for each of TERMS, and microseconds to build for each of BUILD_TERMS.

    `margins`  by rules alone, an engine is taken if it should need less than this share of the present one's time;
               never, if that is 0
    """

    match: Mapping[str, Sequence[float]]
    build: Mapping[str, Sequence[float]]
    margins: Mapping[str, float]

    @property
    def engines(self) -> list[str]:
        return sorted(self.match)

    def predict(self, features: Features) -> dict[str, float]:
        """Microseconds that each engine should take for an event; one that unites takes the cheaper of its two ways.

        `grouped` is left out where too few rules match often.
        """
        values, united = terms_of(features), united_us(features)
        own = {engine: float(values @ np.asarray(weights)) for engine, weights in self.match.items()}
        own = {engine: min(us, united) if engine in uniting() else us for engine, us in own.items()}
        grouped = self._grouped_us(features)
        return {**own, GROUPED: grouped} if math.isfinite(grouped) else own

    def _grouped_us(self, features: Features) -> float:
        """What both groups of `grouped` should take; inf where too few rules match often to unite them."""
        f = features
        united = union_us(f.often, f.constraints, f.attributes, f.pairs, f.often_hits, LEAST_OFTEN)
        weights = self.match.get(FIRST_ENGINE)
        return math.inf if weights is None else united + float(terms_of(f.seldom) @ np.asarray(weights))

    def build_seconds(self, features: Features, engine: str) -> float:
        """What it should take to build an engine."""
        if engine == GROUPED:
            # The rules of the group are in a store of their own, and then in its unions.
            return (1.0 + features.often / max(1.0, features.units)) * self.build_seconds(features, FIRST_ENGINE)
        return float(build_terms_of(features) @ np.asarray(self.build[engine])) / 1e6


def terms_of(features: Features) -> NDArray[np.float64]:
    """The value of each of TERMS."""
    f = features
    return np.array(
        [
            1.0,
            f.pairs,
            f.units,
            f.units * f.constraints,
            f.units * f.pairs,
            f.satisfied,
            f.candidates,
            f.narrowed,
            f.hits,
            f.violated,
            f.always,
            f.units * f.distance,
            f.satisfied * f.distance,
            f.candidates * f.distance,
            f.hits * f.distance,
        ]
    )


def build_terms_of(features: Features) -> NDArray[np.float64]:
    """The value of each of BUILD_TERMS."""
    constraints = features.units * features.constraints
    return np.array([1.0, features.units, constraints, constraints * features.distance])


def united_us(features: Features) -> float:
    """Microseconds that unions of runs of spaces should take, whichever engine has them."""
    f = features
    return union_us(f.units, f.constraints, f.attributes, f.pairs, f.hits)


@functools.cache
def uniting() -> frozenset[str]:
    """The engines that match by unions where that costs less."""
    return frozenset(name for name in engine_names("conjunctions") if engine_class(name).unites)


@functools.cache
def shipped() -> Model:
    """The model that comes with the package."""
    text = resources.files("matchwood.choosing").joinpath("coefficients.json").read_text(encoding="utf-8")
    return read_model(json.loads(text))


def read_model(table: Mapping[str, Any]) -> Model:
    """A model from what `as_table` made; weights by name, so that a term that is new counts for nothing."""
    match = {engine: [weights.get(term, 0.0) for term in TERMS] for engine, weights in table["match"].items()}
    build = {engine: [weights.get(term, 0.0) for term in BUILD_TERMS] for engine, weights in table["build"].items()}
    return Model(match, build, dict(table["margins"]))


def as_table(model: Model, **about: Any) -> dict[str, Any]:
    """A model as plain data, without the terms that count for nothing."""
    weights = {"match": _named(TERMS, model.match), "build": _named(BUILD_TERMS, model.build)}
    return {**about, "margins": dict(model.margins), **weights}


def _named(names: Sequence[str], weights: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    return {
        engine: {name: float(f"{value:.4g}") for name, value in zip(names, values, strict=True) if value > 0}
        for engine, values in weights.items()
    }


def fit(
    features: Sequence[Features], match_us: Mapping[str, Sequence[float]], build_us: Mapping[str, Sequence[float]]
) -> Model:
    """Weights from measured cells: for each engine the microseconds of each cell, nan where it was not measured.

    Where an engine takes no less than unions should, they may be at work, and tell nothing of its own way.
    """
    united = np.array([united_us(f) for f in features])
    own_us = {engine: _below(times, united) if engine in uniting() else times for engine, times in match_us.items()}
    matching, building = np.array([terms_of(f) for f in features]), np.array([build_terms_of(f) for f in features])
    return Model(
        {engine: _fitted(matching, np.asarray(times)).tolist() for engine, times in own_us.items()},
        {engine: _fitted(building, np.asarray(times)).tolist() for engine, times in build_us.items()},
        dict.fromkeys(match_us, MARGINS[0]),
    )


def with_margins(
    model: Model, by_rules: Sequence[Features], match_us: Mapping[str, Sequence[float]], first: str
) -> Model:
    """Margins at which leaving the engine `first` would have saved most over all cells, in logarithms of the time.

    `by_rules` are the features of the same cells, as they were before any event was known.
    """
    predicted = [model.predict(features) for features in by_rules]
    margins = {first: MARGINS[0]}
    for engine in match_us.keys() - {first}:
        ratios = np.array([found[engine] / found[first] for found in predicted])
        gains = np.log(np.asarray(match_us[first]) / np.asarray(match_us[engine]))
        saved = [float(np.nansum(gains[ratios < margin])) for margin in MARGINS]
        margins[engine] = MARGINS[int(np.argmax(saved))]
    return model._replace(margins=dict(sorted(margins.items())))


def _below(times: Sequence[float], united: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.asarray(times) < united, times, np.nan)


def _fitted(terms: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    known = np.isfinite(times)
    return nonnegative_least_squares(terms[known] / times[known, None], np.ones(np.count_nonzero(known)))


def nonnegative_least_squares(matrix: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The x without negative elements for which |matrix @ x - target| is least (Lawson and Hanson, 1974).

    >>> nonnegative_least_squares(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 3.0])).round(6).tolist()
    [2.0, 0.0]
    """
    scale = np.maximum(np.abs(matrix).max(axis=0, initial=0.0), 1e-300)
    scaled = matrix / scale
    found, passive = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1], np.bool_)
    for _ in range(10 * matrix.shape[1]):
        gradient = np.where(passive, -np.inf, scaled.T @ (target - scaled @ found))
        if gradient.max(initial=-np.inf) <= 1e-9:
            break
        passive[int(gradient.argmax())] = True
        found = _settled(scaled, target, found, passive)
    unscaled: NDArray[np.float64] = found / scale
    return unscaled


def _settled(
    matrix: NDArray[np.float64], target: NDArray[np.float64], found: NDArray[np.float64], passive: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The best solution over the passive elements; those that would become negative are taken out, one at a time."""
    while True:
        solved = np.zeros_like(found)
        solved[passive] = np.linalg.lstsq(matrix[:, passive], target, rcond=None)[0]
        if (solved[passive] > 0).all():
            return solved
        below = passive & (solved <= 0)
        steps = found[below] / np.maximum(found[below] - solved[below], 1e-300)
        found = found + steps.min() * (solved - found)
        passive &= found > 1e-12
        found[~passive] = 0.0
        if not passive.any():
            return found

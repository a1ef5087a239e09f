"""Predictions: weights are recovered from what they made, survive being written down, and cover every engine."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from matchwood.choosing.choice import LEAST_GAIN, UNPROVEN_GAIN, EngineChoice
from matchwood.choosing.features import Features
from matchwood.choosing.model import (
    BUILD_TERMS,
    MARGINS,
    TERMS,
    Model,
    as_table,
    build_terms_of,
    fit,
    nonnegative_least_squares,
    read_model,
    shipped,
    terms_of,
    united_us,
    uniting,
    with_margins,
)
from matchwood.engines import engine_names


def features(rng: np.random.Generator) -> Features:
    units = float(rng.integers(1_000, 100_000))
    return Features(
        units=units,
        constraints=float(rng.uniform(1, 10)),
        attributes=float(rng.integers(3, 400)),
        sharing=1.0,
        pairs=float(rng.uniform(1, 30)),
        satisfied=units * float(rng.uniform(0.01, 1)),
        candidates=units * float(rng.uniform(0.001, 0.1)),
        narrowed=units * float(rng.uniform(0.0001, 0.01)),
        violated=units * float(rng.uniform(0.1, 1)),
        always=float(rng.integers(0, 50)),
        hits=units * float(rng.uniform(0.0001, 0.1)),
        distance=float(rng.uniform(0, 4)),
    )


def test_every_engine_over_conjunctions_has_weights() -> None:
    """An engine without any could never be chosen: `python -m matchwood.bench.auto.fit` gives it some."""
    model = shipped()
    assert set(model.engines) == set(engine_names("conjunctions"))
    assert set(model.build) == set(model.match)
    predicted = model.predict(features(np.random.default_rng(1)))
    assert all(value > 0 for value in predicted.values())
    assert all(model.build_seconds(features(np.random.default_rng(1)), name) > 0 for name in model.engines)


def test_unions_bound_what_engines_that_have_them_should_take() -> None:
    """Few attributes, and half of all constraints hold: counting these, or walking points, would take far longer."""
    many = features(np.random.default_rng(1))._replace(
        units=100_000.0, constraints=7.0, attributes=20.0, pairs=15.0, satisfied=350_000.0, hits=30_000.0
    )
    model, united = shipped(), united_us(many)
    own = {name: float(terms_of(many) @ np.asarray(weights)) for name, weights in model.match.items()}
    predicted = model.predict(many)
    assert uniting() == {"counting", "hem"}
    assert all(predicted[name] == united < own[name] for name in uniting())
    assert all(predicted[name] == own[name] for name in predicted.keys() - uniting())
    sparse = many._replace(attributes=3_000.0)
    assert united_us(sparse) == united_us(many._replace(units=100.0)) == math.inf


def test_what_unions_did_tells_nothing_of_counting() -> None:
    rng = np.random.default_rng(8)
    cells = [features(rng)._replace(attributes=10.0, constraints=5.0) for _ in range(40)]
    times = [cell.satisfied * 0.001 for cell in cells]
    united = [min(us, united_us(cell)) for us, cell in zip(times, cells, strict=True)]
    assert united != times
    found = fit(cells, {"counting": united}, {"counting": times})
    weights = dict(zip(TERMS, found.match["counting"], strict=True))
    assert weights["satisfied"] == pytest.approx(0.001, rel=1e-3)


def test_weights_are_at_least_zero() -> None:
    model = shipped()
    assert min(weight for weights in (*model.match.values(), *model.build.values()) for weight in weights) >= 0


def test_a_fit_recovers_the_weights_that_times_were_made_with() -> None:
    rng = np.random.default_rng(2)
    cells = [features(rng) for _ in range(60)]
    match, build = np.zeros(len(TERMS)), np.zeros(len(BUILD_TERMS))
    match[[0, 2, 8]], build[[1, 2]] = (0.5, 0.001, 0.02), (0.3, 0.1)
    times = [float(terms_of(cell) @ match) for cell in cells]
    seconds = [float(build_terms_of(cell) @ build) for cell in cells]
    found = fit(cells, {"one": times}, {"one": seconds})
    assert np.allclose(found.match["one"], match, atol=1e-6, rtol=1e-3)
    other = features(rng)
    assert found.predict(other)["one"] == pytest.approx(float(terms_of(other) @ match), rel=1e-3)
    assert found.build_seconds(other, "one") == pytest.approx(float(build_terms_of(other) @ build) / 1e6, rel=1e-3)


def test_cells_that_were_not_measured_are_left_out() -> None:
    rng = np.random.default_rng(3)
    cells = [features(rng) for _ in range(20)]
    times = [cell.units * 0.001 for cell in cells]
    times[3] = float("nan")
    found = fit(cells, {"one": times}, {"one": times})
    assert found.predict(cells[3])["one"] == pytest.approx(cells[3].units * 0.001, rel=1e-3)


def test_a_model_is_the_same_after_it_was_written_down(tmp_path: Path) -> None:
    model = shipped()
    table = json.loads(json.dumps(as_table(model, made_by="a test")))
    again = read_model(table)
    one = features(np.random.default_rng(4))
    assert again.predict(one) == pytest.approx(model.predict(one), rel=1e-3)
    assert table["made_by"] == "a test"


def test_a_term_that_is_not_in_the_table_counts_for_nothing() -> None:
    model = read_model({"match": {"one": {"units": 2.0, "moons": 5.0}}, "build": {"one": {}}, "margins": {"one": 0.9}})
    one = features(np.random.default_rng(5))
    assert model == Model({"one": model.match["one"]}, {"one": [0.0] * len(BUILD_TERMS)}, {"one": 0.9})
    assert model.predict(one)["one"] == 2.0 * one.units


def test_an_engine_whose_predictions_mislead_is_never_taken_by_rules_alone() -> None:
    """Of `good` the predictions tell the truth, of `bad` they are always ten times too low."""
    rng = np.random.default_rng(6)
    cells = [features(rng) for _ in range(30)]
    first = [cell.units * 0.01 for cell in cells]
    good = [cell.units * 0.005 * (1 + 2 * (place % 2)) for place, cell in enumerate(cells)]
    weights = {"first": _units(0.01), "good": _units(0.005), "bad": _units(0.001)}
    model = Model(weights, weights, {})
    found = with_margins(model, cells, {"first": first, "good": good, "bad": [10 * us for us in first]}, "first")
    assert found.margins == {"bad": 0.0, "first": MARGINS[0], "good": MARGINS[0]}


def _units(weight: float) -> list[float]:
    return [weight if term == "units" else 0.0 for term in TERMS]


def test_a_choice_by_rules_alone_is_doubted_until_a_trial() -> None:
    one = [1.0, *[0.0] * (len(TERMS) - 1)]
    match = {"scan": [10.0 * value for value in one], "hem": [12.0 * value for value in one]}
    build = {name: [1e6, *[0.0] * (len(BUILD_TERMS) - 1)] for name in match}
    choice = EngineChoice("hem", Model(match, build, dict.fromkeys(match, 0.9)), list(match))
    given = features(np.random.default_rng(1))
    kept, gains = EngineChoice("scan", Model(match, build, dict.fromkeys(match, 0.9)), list(match)), []
    choice.take_by_rules(choice.best_by_rules(given))
    for each in (kept, choice):
        plan = each.plan(given, again=False)
        assert plan is not None
        assert plan.names == ("hem",)
        gains.append(plan.gain)
    assert gains == [LEAST_GAIN, UNPROVEN_GAIN]


@pytest.mark.parametrize("seed", range(5))
def test_no_small_step_improves_a_nonnegative_solution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, target = rng.normal(size=(30, 6)), rng.normal(size=30)
    found = nonnegative_least_squares(matrix, target)
    best = np.linalg.norm(matrix @ found - target)
    assert (found >= 0).all()
    for step in (*np.eye(6), *-np.eye(6)):
        moved = np.maximum(found + 1e-4 * step, 0)
        assert np.linalg.norm(matrix @ moved - target) >= best - 1e-9

"""What ranking gains: the best five by pruning, next to matching all and sorting, with weights of two kinds."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.measure import Rounds, WrongAnswer, drawn, measure_rounds, timed, times
from matchwood.encoding import EncodedEvents
from matchwood.errors import counted_were
from matchwood.index import Index
from matchwood.matching import EventScoring
from matchwood.workloads import IN, Workload, contracts

TOP = 5

CNF_MONTHS = 7
"""Spread over so many months, a rule in CNF matches as often as in the paper: 5.2%."""

PAPER = {"dnf": "0.84 to 1.11", "cnf": "1.35 to 1.45"}
"""How many times longer than ranking, matching alone takes in the paper, which sorts nothing."""


def ranked_rows(form: str, weights: str, rules: int, events: int) -> list[dict[str, Any]]:
    """A row for the K-index as it ranks, one when all hits are scored and sorted, and the same two as published."""
    workload = _workload(form, rules, events)
    found = [_compared(form, weights, workload, options, name) for name, options in KINDS.items()]
    if not found[0][1].equals(found[1][1]):
        raise WrongAnswer(f"{weights} weights: the published prunings find other rules")
    return [row for rows, _ in found for row in rows]


KINDS: dict[str, dict[str, Any]] = {"kindex": {}, "kindex, as published": {"as_published": True}}


def _workload(form: str, rules: int, events: int) -> Workload:
    spread = {"form": "cnf", "months": CNF_MONTHS} if form == "cnf" else {}
    return contracts(rules=rules, events=2 * drawn(events), seed=7, **spread)


def _compared(
    form: str, weights: str, workload: Workload, options: dict[str, Any], kind: str
) -> tuple[list[dict[str, Any]], pa.Table]:
    """The rows of one kind of index, pruning and not, and its answer."""
    index, table = Index("kindex", options={"form": form, **options}), workload.events_table()
    given = paper_weights(workload) if weights == "paper" else pareto_weights(workload)
    ids, texts = range(workload.rules.count), workload.rules_text()
    build_s, report = timed(lambda: index.insert_many(zip(ids, texts, given, strict=True)))
    if report.rejected.num_rows:
        raise WrongAnswer(f"{counted_were(report.rejected.num_rows, 'rule')} rejected: {report.rejected['error'][0]}")
    random = np.random.default_rng(11)
    weighed = {name: float(weight) for name, weight in zip(sorted(index.types()), random.random(10_000), strict=False)}
    engine: Any = index._matcher.engine  # type: ignore[attr-defined]
    bounds = engine.bounds
    rows, answers = [], []
    for place, name in enumerate(ways := (f"{kind}, top 5", f"{kind}, match all and sort")):
        # Without bounds the engine ranks as every other does. Each way has every other event for itself.
        engine.bounds = None if place else bounds
        own = table.take(np.arange(place, table.num_rows, len(ways)))
        rows.append(_row(name, form, weights, index, build_s, _measured(index, own, weighed)))
    for place in range(len(ways)):
        engine.bounds = None if place else bounds
        answers.append(index.top_many(table, TOP, weighed))
    engine.bounds = bounds
    if not answers[0].equals(answers[1]):
        raise WrongAnswer(f"{weights} weights: pruning changes the best rules")
    for row in rows:
        row["ratio"] = round(rows[1]["match_us"] / row["match_us"], 2)
        row["scored_share"] = round(row["scored_per_event"] / rows[1]["scored_per_event"], 4)
    return rows, answers[0]


class Ranking(NamedTuple):
    """What ranking took; `encode_s` and `scored` are those of all its events."""

    rounds: Rounds
    encode_s: float
    scored: int


def _measured(index: Index, table: pa.Table, weighed: dict[str, float]) -> Ranking:
    """Rank each event once; encoding what programs test of it is a part of ranking, and finding its spaces is not."""
    matcher: Any = index._matcher
    request, encoding, scores = index._best(TOP, weighed), list[float](), list[int]()

    def rank(first: int, stop: int) -> float:
        spent = 0.0
        for chunk in index._encoder.event_chunks(table.slice(first, stop - first)):
            encode_s, encoded = timed(chunk.encode)
            scoring = EventScoring(
                matcher, request, partial(matcher.score_programs.encode_chunk, chunk.given), chunk.first_row
            )
            seconds, scored = timed(partial(_scored, matcher, encoded.events, scoring))
            encoding.append(encode_s)
            scores.append(scored)
            spent += seconds
        return spent

    return Ranking(measure_rounds(rank, table.num_rows), sum(encoding), sum(scores))


def _scored(matcher: Any, events: EncodedEvents, scoring: EventScoring) -> int:
    """How many rules were scored to find the best of all events."""
    position = scored = 0
    while position < events.count:
        found = matcher.engine.top(events, position, scoring.of(matcher.parts[0].kind), matcher.workspace)
        position, scored = position + found.count, scored + found.scored
    return scored


def _row(name: str, form: str, weights: str, index: Index, build_s: float, ranking: Ranking) -> dict[str, Any]:
    events = ranking.rounds.events
    return {
        "engine": name,
        "workload": f"{form} ranking, {weights} weights",
        "rules": len(index),
        "events": events,
        "build_s": round(build_s, 2),
        **times(1e6 * ranking.encode_s / events, ranking.rounds.us),
        "scored_per_event": ranking.scored / events,
        "paper_ratio": PAPER[form] if weights == "paper" else None,
        "checked": True,
    }


def pareto_weights(workload: Workload) -> list[dict[str, Any]]:
    """A constant weight for each rule, of a heavy tail, as bids have."""
    drawn = np.random.default_rng(5).pareto(1.0, workload.rules.count)
    return [{"weight": round(float(weight), 4)} for weight in drawn]


def paper_weights(workload: Workload) -> list[dict[str, Any]]:
    """Each value of an IN predicate weighs about 0.8 of its bound: the inverse of its share of the events."""
    events, rules = workload.events, workload.rules
    keys, counts = np.unique(events.attributes.astype(np.int64) << 32 | events.values, return_counts=True)
    bounds = dict(zip(keys.tolist(), (events.count / counts).tolist(), strict=True))
    random, names = np.random.default_rng(5), workload.attributes
    owners = np.repeat(np.arange(rules.count), np.diff(rules.offsets)).tolist()
    starts = rules.constant_offsets.tolist()
    given: list[dict[str, Any]] = [{} for _ in range(rules.count)]
    noise = random.standard_normal(len(rules.constants))
    constants, attributes, operators = rules.constants.tolist(), rules.attributes.tolist(), rules.operators.tolist()
    for place, owner in enumerate(owners):
        if operators[place] != IN:
            continue
        own = given[owner].setdefault(names[attributes[place]], {})
        for at in range(starts[place], starts[place + 1]):
            bound = bounds.get(attributes[place] << 32 | constants[at], float(events.count))
            weight = 0.8 * bound + float(noise[at]) * (0.05 * bound) ** 0.5
            own[str(constants[at])] = round(min(max(weight, 0.0), bound), 6)
    return [{"weights": weights} for weights in given]

"""An index and encoded events from a workload, refused when they would make a benchmark meaningless."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.bench.measure import WrongAnswer, timed
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines.oracle import evaluate
from matchwood.index import Index
from matchwood.language import parse
from matchwood.workloads.base import Workload


class Prepared(NamedTuple):
    """An index built from a workload's texts, its events in both forms, and what building cost."""

    index: Index
    table: pa.Table
    events: EncodedEvents
    build_s: float
    encode_s: float


def prepare(workload: Workload, engine: str) -> Prepared:
    """Build from text, encode the events, and check that nothing was rejected or repeated."""
    texts = workload.rules_text()
    index = Index(engine=engine)
    build_s, report = timed(lambda: index.insert_many(enumerate(texts)))
    if report.rejected.num_rows:
        raise WrongAnswer(f"{report.rejected.num_rows} rules were rejected, the first: {report.rejected['error'][0]}")
    table = workload.events_table()
    encode_s, batches = timed(lambda: list(index._encoder.event_batches(table)))
    events = concatenated([batch.events for batch in batches])
    _refuse_repeated(workload)
    return Prepared(index, table, events, build_s, encode_s)


def _refuse_repeated(workload: Workload) -> None:
    texts = [json.dumps(event, sort_keys=True, default=str) for event in workload.events_dicts()]
    if len(set(texts)) != len(texts):
        raise WrongAnswer("two measured events are equal")


def concatenated(batches: list[EncodedEvents]) -> EncodedEvents:
    """Several encoded batches as one, read-only as kernels want them."""
    counts = np.concatenate([np.diff(batch.offsets) for batch in batches])
    joined = EncodedEvents(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([batch.attributes for batch in batches]),
        np.concatenate([batch.labels for batch in batches]),
    )
    for array in joined:
        array.flags.writeable = False
    return joined


def check_with_oracle(prepared: Prepared, workload: Workload, rules: int = 200, events: int = 20, seed: int = 1) -> None:
    """The index's answers for some events, held against the oracle on some rules, half of them among the hits."""
    random = np.random.default_rng(seed)
    texts = workload.rules_text()
    for event in workload.events_dicts()[:events]:
        hits = set(prepared.index.match(event))
        sample = {*random.integers(0, len(texts), rules).tolist(), *list(hits)[: rules // 2]}
        wrong = [rule for rule in sample if (evaluate(parse(texts[rule]), event) is True) != (rule in hits)]
        if wrong:
            raise WrongAnswer(f"rule {wrong[0]} ({texts[wrong[0]]}) and event {event}: the oracle disagrees")

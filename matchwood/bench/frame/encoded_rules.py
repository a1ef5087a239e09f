"""A workload's integer columns straight to codes: three million rules in a minute, where their texts would take ten.

The codes are those that an index over attributes of type int makes of the texts; a test holds that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.measure import WrongAnswer, first_events, timed, timed_codes
from matchwood.bench.frame.setup import concatenated, refuse_repeated_events
from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions, EncodedEvents, Encoder, Schema, frozen
from matchwood.engines import ConjunctionStore, Engine, Workspace
from matchwood.workloads import AT_LEAST, AT_MOST, BETWEEN, GREATER, LESS, NOT_EQUAL, NOT_IN, Rules, Workload
from matchwood.workloads import hits as brute_force

CHECKED_EVENTS = 20


class Encoded(NamedTuple):
    """A workload in a store; `units` tells the unit of each rule, `encode_s` what all that took.

    `encode_us` is what finding the spaces of an event takes.
    """

    workload: Workload
    encoder: Encoder
    store: ConjunctionStore
    units: NDArray[np.int32]
    events: EncodedEvents
    encode_s: float
    encode_us: float


def encoded(workload: Workload, spaces: str = "sorted") -> Encoded:
    """Rules into a store, events into codes; refused if an event occurs twice."""
    refuse_repeated_events(workload)
    encoder = Encoder(Schema(dict.fromkeys(workload.attributes, "int")), spaces=spaces)
    store = ConjunctionStore()
    seconds, added = timed(lambda: store.add(encode_rules(encoder, workload)))
    encode_us, events = timed_events(encoder, workload)
    return Encoded(workload, encoder, store, added.units, events, seconds, encode_us)


def timed_events(encoder: Encoder, workload: Workload) -> tuple[float, EncodedEvents]:
    """Microseconds to find the spaces of an event, and the codes of all."""
    encode_us, codes = timed_codes(
        lambda first, stop: [encode_events(encoder, workload, first, stop)], workload.events.count
    )
    return encode_us, concatenated(codes)


def encode_rules(encoder: Encoder, workload: Workload) -> EncodedConjunctions:
    """All rules as conjunctions; boundaries come to be in the encoder."""
    rules, numbers = workload.rules, _numbers(encoder, workload)
    labels, owners = add_cuts(encoder, workload, rules)
    pieces, ends = _ends(rules, np.bincount(owners, minlength=len(rules.operators)), labels)
    found = EncodedConjunctions(
        frozen(rules.offsets),
        frozen(numbers[rules.attributes]),
        frozen(np.zeros(len(rules.attributes), np.bool_)),
        frozen(pieces),
        frozen(ends[::2]),
        frozen(ends[1::2]),
    )
    encoder.vocabulary.count(found, 1)
    return found


def add_cuts(encoder: Encoder, workload: Workload, rules: Rules) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The labels of all boundaries of some predicates, which come to be, and the predicate of each."""
    numbers, (cuts, owners) = _numbers(encoder, workload), _cuts(rules)
    labels = np.empty(len(cuts), np.int32)
    for attribute, places in _groups(rules.attributes[owners]):
        elements: Any = cuts[places]
        labels[places] = encoder.vocabulary.add_values(int(numbers[attribute]), elements)
    return labels, owners


def _numbers(encoder: Encoder, workload: Workload) -> NDArray[np.int32]:
    """The number of each attribute."""
    return np.array([encoder.vocabulary.number(name, "int") for name in workload.attributes], np.int32)


def encode_events(encoder: Encoder, workload: Workload, first: int = 0, stop: int | None = None) -> EncodedEvents:
    """All events, or those from `first` to `stop`; every attribute of the workload must have rules."""
    vocabulary = encoder.vocabulary
    offsets = workload.events.offsets[first : None if stop is None else stop + 1]
    pairs = slice(int(offsets[0]), int(offsets[-1]))
    attributes, values = workload.events.attributes[pairs], workload.events.values[pairs]
    numbers = _numbers(encoder, workload)
    labels = np.zeros(len(values), np.int32)
    for attribute, places in _groups(attributes):
        spaces = vocabulary.spaces.get(int(numbers[attribute]))
        if spaces is not None:
            labels[places] = spaces.locate_many(values[places])
    return EncodedEvents(frozen(offsets - offsets[0]), frozen(numbers[attributes]), frozen(labels))


def _groups(attributes: NDArray[np.int32]) -> list[tuple[int, NDArray[np.int64]]]:
    """The positions of each attribute."""
    order = np.argsort(attributes, kind="stable")
    present, first = np.unique(attributes[order], return_index=True)
    return list(zip(present.tolist(), np.split(order, first[1:]), strict=True))


def _cuts(rules: Rules) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each predicate's set of values begins and ends by turns, and the predicate of each such cut.

    Before a constant stands the cut c, after it c + 1; neighbours in a list have none between them.
    """
    owners = np.repeat(np.arange(len(rules.operators)), np.diff(rules.constant_offsets))
    operators, constants = rules.operators[owners], rules.constants
    follows = np.zeros(len(constants) + 1, np.bool_)
    follows[1:-1] = (owners[1:] == owners[:-1]) & (np.diff(constants) == 1)
    between, second = operators == BETWEEN, np.zeros(len(constants), np.bool_)
    second[1:] = owners[1:] == owners[:-1]
    before = np.where(between, ~second, ~follows[:-1]) & (operators != AT_MOST) & (operators != GREATER)
    after = np.where(between, second, ~follows[1:]) & (operators != LESS) & (operators != AT_LEAST)
    taken = np.stack((before, after), axis=1).ravel()
    return np.stack((constants, constants + 1), axis=1).ravel()[taken], np.repeat(owners, 2)[taken]


def _ends(
    rules: Rules, counts: NDArray[np.int64], labels: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Pieces by predicate, and the two labels of each: cuts, and the ends of the domain where the set reaches them."""
    from_bottom = np.isin(rules.operators, (LESS, AT_MOST, NOT_EQUAL, NOT_IN)).astype(np.int64)
    sizes = counts + from_bottom
    sizes += sizes & 1
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    ends = np.full(offsets[-1], TOP_LABEL, np.int32)
    ends[offsets[:-1][from_bottom == 1]] = BOTTOM_LABEL
    first = offsets[:-1] + from_bottom - (np.cumsum(counts) - counts)
    ends[np.arange(len(labels)) + np.repeat(first, counts)] = labels
    return offsets // 2, ends


def check(name: str, engine: Engine, prepared: Encoded, events: int = CHECKED_EVENTS) -> None:
    """An engine's hits for the first events, held against all that NumPy finds."""
    workspace = Workspace()
    for event, rules in enumerate(brute_force(prepared.workload, range(min(events, prepared.events.count)))):
        hits = engine.match(first_events(prepared.events, event + 1), event, workspace)
        found, wanted = np.sort(hits.units[: hits.offsets[1]]), np.unique(prepared.units[rules])
        if not np.array_equal(found, wanted):
            raise WrongAnswer(
                f"{name}: event {event} has {len(wanted):,} hits, the engine finds {len(found):,} or others"
            )

"""The weights of events, as callers give them: one mapping for all, or one for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.engines import EventWeights
from matchwood.errors import InvalidArgument, counted, kind_in_words
from matchwood.language import canonical
from matchwood.ranking.weights import checked_number

WEIGHT = ("added", "only")
_MAP = pa.map_(pa.string(), pa.float64())


def check_one(event: Any, weights: Any) -> None:
    """Refuse to rank anything but one event, with one mapping of weights if any."""
    if not isinstance(event, Mapping):
        raise InvalidArgument(
            f"top takes one event as a dict (got {type(event).__name__}); top_many takes lists and tables"
        )
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidArgument(f"weights must be a mapping from attributes to numbers (got {weights!r:.80})")


def checked_role(weight: Any, weights: Any) -> str:
    """What a rule's constant weight is to its score; with `only`, what events weigh has no effect."""
    if weight not in WEIGHT:
        raise InvalidArgument(f"weight must be {' or '.join(map(repr, WEIGHT))} (got {weight!r:.80})")
    if weight == "only" and weights is not None:
        raise InvalidArgument("weight='only' ranks by the rules' constant weights alone: leave weights= out")
    return str(weight)


class _Each(NamedTuple):
    """Weights of each event: names[codes[i]] weighs values[i], for i in offsets[event] : offsets[event + 1]."""

    offsets: NDArray[np.int64]
    names: list[str]
    codes: NDArray[np.int64]
    values: NDArray[np.float64]


class GivenWeights:
    """Weights of attributes, for all events or for each.

    `given`  a mapping from attributes to weights; or a list of such mappings (None for no weights), or an Arrow array
             of structs or maps, one for each event
    `known`  the attributes that rules name or a schema declares; rules come and go, so weights of others are passed
             over, and counted
    `weight` what the constant weight of a rule is to its score: `added` to what its predicates score, or the `only`
             thing that counts, so that every attribute weighs nothing
    """

    def __init__(self, given: Any, known: Iterable[str], weight: str = WEIGHT[0]) -> None:
        self._known = frozenset(known)
        self._shared: dict[str, float] = {}
        self._each: _Each | None = None
        if checked_role(weight, given) == "only":
            self._shared = dict.fromkeys(self._known, 0.0)
        elif isinstance(given, Mapping):
            self._shared = {canonical(name): checked_number(f"weights[{name!r}]", w) for name, w in given.items()}
        elif given is not None:
            self._each = self._checked(_as_maps(given))

    def unknown(self) -> dict[str, int]:
        """The names that no rule has, and how many weights were given for each."""
        if self._each is None:
            return dict.fromkeys((name for name in self._shared if name not in self._known), 1)
        counts = np.bincount(self._each.codes, minlength=len(self._each.names)).tolist()
        pairs = zip(self._each.names, counts, strict=True)
        return {name: count for name, count in pairs if name not in self._known}

    def _checked(self, maps: pa.MapArray) -> _Each:
        """Weights by event, whose values are usable, checked as columns."""
        each = _flat(maps)
        wrong = ~(np.isfinite(each.values) & (each.values >= 0))
        if wrong.any():
            place = int(wrong.argmax())
            event = places_in(each.offsets, place, "right") - 1
            told = f"weights[{each.names[each.codes[place]]!r}] of event {event}"
            raise InvalidArgument(f"{told} must be finite and at least 0 (got {each.values[place]})")
        return each._replace(names=[canonical(name) for name in each.names])

    def _check_count(self, events: int) -> None:
        """Refuse events beyond those that have weights."""
        given = events if self._each is None else len(self._each.offsets) - 1
        if events > given:
            raise InvalidArgument(f"weights were given for {counted(given, 'event')} (got {events} or more)")

    def check_all_used(self, events: int) -> None:
        """When there are no more events, refuse weights beyond them."""
        given = events if self._each is None else len(self._each.offsets) - 1
        if events != given:
            raise InvalidArgument(f"weights were given for {counted(given, 'event')} (got {events})")

    def of(self, event: int) -> dict[str, float]:
        """The weights of one event, by attribute."""
        if self._each is None:
            return self._shared
        self._check_count(event + 1)
        part = range(self._each.offsets[event], self._each.offsets[event + 1])
        return {self._each.names[self._each.codes[place]]: float(self._each.values[place]) for place in part}

    def arrays(self, first: int, count: int, numbers: Mapping[str, int]) -> EventWeights:
        """The weights of the events first : first + count, by the numbers of names; names without one do not matter."""
        shared = np.ones(len(numbers) + 1)
        shared[-1] = 0.0
        for name, weight in self._shared.items():
            if name in numbers:
                shared[numbers[name]] = weight
        if self._each is None:
            return EventWeights(shared, _NO_OFFSETS, _NO_NAMES, _NO_VALUES)
        self._check_count(first + count)
        return EventWeights(shared, *_numbered(self._each, first, count, numbers))


_NO_OFFSETS, _NO_NAMES, _NO_VALUES = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float64)


def _numbered(each: _Each, first: int, count: int, numbers: Mapping[str, int]) -> tuple[Any, Any, Any]:
    offsets = each.offsets[first : first + count + 1]
    part = slice(int(offsets[0]), int(offsets[-1]))
    names = np.array([numbers.get(name, -1) for name in each.names] or [-1], np.int32)[each.codes[part]]
    kept = names >= 0
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int64)
    return before[offsets - offsets[0]], names[kept], each.values[part][kept]


def _as_maps(given: Any) -> pa.MapArray:
    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks() if given.num_chunks != 1 else given.chunk(0)
    if isinstance(given, pa.StructArray):
        return _maps_of_struct(given)
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return pa.array([_pairs(position, each) for position, each in enumerate(given)], _MAP)
    if isinstance(given, pa.MapArray):
        return _converted(given, _MAP)
    wanted = "a mapping from attributes to numbers, or a list or Arrow array of such mappings, one per event"
    raise InvalidArgument(f"weights must be {wanted} (got {given!r:.80}, {kind_in_words(given)})")


def _pairs(position: int, given: Any) -> list[tuple[str, float]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"the weights of event {position} must be a mapping or None (got {given!r:.80})")
    return [(str(name), checked_number(f"weights[{name!r}] of event {position}", w)) for name, w in given.items()]


def _converted(given: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return given.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidArgument(f"the weights of events must be numbers by attribute ({error})") from None


def _maps_of_struct(given: pa.StructArray) -> pa.MapArray:
    """A struct of weights as maps; every event has all names, NULL where it has no weight."""
    fields = [_converted(column, pa.float64()) for column in given.flatten()]
    columns = [column.to_numpy(zero_copy_only=False) for column in fields]
    valid = [column.is_valid().to_numpy(zero_copy_only=False) for column in fields]
    present = np.stack(valid, axis=1) if fields else np.empty((len(given), 0), np.bool_)
    values = np.stack(columns, axis=1) if fields else np.empty((len(given), 0))
    names = np.tile(np.array([field.name for field in given.type], object), len(given))[present.ravel()]
    offsets = np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int32)
    return pa.MapArray.from_arrays(offsets, pa.array(names, pa.string()), pa.array(values[present]))


def _flat(maps: pa.MapArray) -> _Each:
    """The entries of maps without those that are NULL, whatever slice of its children an array is."""
    ends = maps.offsets.to_numpy().astype(np.int64)
    counts = np.diff(ends) * maps.is_valid().to_numpy(zero_copy_only=False)
    events = np.repeat(np.arange(len(maps)), counts)
    places = np.arange(len(events)) + np.repeat(ends[:-1] - np.cumsum(counts) + counts, counts)
    values = maps.items.take(pa.array(places))
    kept = values.is_valid().to_numpy(zero_copy_only=False)
    names = maps.keys.take(pa.array(places[kept])).dictionary_encode()
    sizes = np.bincount(events[kept], minlength=len(maps))
    return _Each(
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        names.dictionary.to_pylist(),
        names.indices.to_numpy(zero_copy_only=False).astype(np.int64),
        values.to_numpy(zero_copy_only=False)[kept].astype(np.float64),
    )

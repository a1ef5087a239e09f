"""What an engine is: units in, hits out.

A *unit* is what is stored and reported: a conjunction of a `ConjunctionStore`, which an `Engine` runs over, or
an expression of an `ATree`, which is its own store. Unit numbers are dense, never reused before `compact`, and known to
the façade alone by the links from units to rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.core import State, pooled_copy, require
from matchwood.encoding import EncodedEvents
from matchwood.engines.shared.bounds import BoundTable
from matchwood.engines.shared.one_event import OneEventSearch
from matchwood.engines.shared.operators import LabelValues
from matchwood.engines.shared.published import AS_PUBLISHED, asked, resolved
from matchwood.engines.shared.scoring import Ranked, TopQuery
from matchwood.engines.shared.workspace import Workspace
from matchwood.errors import InvalidArgument, kind_in_words


class Work(NamedTuple):
    """What a match call did: candidates looked at, verified against their constraints, matched.

    `postings`  entries of posting lists that were read, by engines that have such lists
    """

    candidates: int
    verified: int
    matched: int
    postings: int = 0


class Hits(NamedTuple):
    """The hits of the events first : first + count; those of the i-th are units[offsets[i] : offsets[i + 1]].

    A unit stands at most once in an event's hits, in no particular order. A call may cover fewer events than
    were asked for, when its output is full (docs/protocols.md).
    """

    first: int
    offsets: NDArray[np.int64]
    units: NDArray[np.int32]
    work: Work

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.offsets) - 1

    def owned(self) -> Hits:
        """The same in arrays of their own."""
        return self._replace(offsets=self.offsets.copy(), units=pooled_copy(self.units))

    @property
    def scored(self) -> int:
        """How many rules were scored to find them."""
        return 0


class EventShares(Protocol):
    """What is known of the events that were matched before."""

    @property
    def events(self) -> int:
        """How many events it has seen."""

    def shares(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """For each label interval of an attribute, the share of those events whose value lies in it."""


class Structure(State, ABC):
    """A matching structure. All state is declared (`core/state.py`): arrays and a small header.

    The façade serialises all calls that change state, and lets no match call overlap one. Several
    threads may call `match` at once: it writes to its workspace only.
    """

    name: ClassVar[str]
    unit_kind: ClassVar[str]
    """What its units are: `conjunctions` or `forms`."""

    options: ClassVar[Mapping[str, Any]] = {}
    """Every option with its default; a subclass lists its own. A value must be of the default's type."""
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """The least and the greatest value of the options that are numbers."""
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The values of the options that are names."""
    uses_event_statistics: ClassVar[bool] = False
    """Whether the engine lays units out by `event_statistics`, to `reconsider` that when candidates are too many."""
    unites: ClassVar[bool] = False
    """Whether it may match by unions of runs of spaces (`shared/unions`), where that costs less than its own way."""
    ranks: ClassVar[bool] = False
    """Whether `top` looks for the best rules by itself: programs and bounds are then made when rules are inserted."""
    bounds: BoundTable | None = None
    """How much the rules of each unit can score, for an engine over conjunctions that `ranks`."""
    event_statistics: EventShares | None = None
    """The events matched so far, where somebody keeps account of them."""
    values: LabelValues | None = None
    """What tells the values behind labels, where somebody knows; asked when units are laid out, and never while others
    change the rules."""

    shaped_by_options: ClassVar[str] = ""
    """What was laid out by the options, in a word, if they are saved with it: other options cannot use it."""
    published: ClassVar[Mapping[str, Any]] = {}
    """The values of options that make the engine the system of its paper: what `as_published=True` stands for."""
    published_spaces: ClassVar[str | None] = None
    """The predicate spaces of the paper, for the option `spaces`, where the paper is particular about them."""

    settings: dict[str, Any]
    """Every option of the engine but `as_published`, which is resolved to the others."""
    as_published: bool

    def _configure(self, options: Mapping[str, Any] | None) -> None:
        self.settings = self._checked(options or {})
        self.as_published = asked(options or {}, self.name)

    @classmethod
    def option_names(cls) -> list[str]:
        """All options, sorted."""
        return sorted([*cls.options, AS_PUBLISHED])

    @classmethod
    def _checked(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(options) - set(cls.option_names()))
        if unknown:
            known = ", ".join(cls.option_names())
            raise InvalidArgument(f"engine {cls.name!r} has no option {unknown[0]!r} (its options: {known})")
        given = resolved(options, cls.published, cls.name)
        for name, value in given.items():
            cls._check_value(name, value)
        return {**cls.options, **given}

    @classmethod
    def _check_value(cls, name: str, value: Any) -> None:
        kind, option = type(cls.options[name]), f"option {name!r} of engine {cls.name!r}"
        if type(value) is not kind:
            words = {bool: "True or False", int: "an integer", float: "a float", str: "a string", dict: "a dict"}
            wanted = words.get(kind, f"of type {kind.__name__}")
            raise InvalidArgument(f"{option} must be {wanted} (got {value!r:.80}, {kind_in_words(value)})")
        if value not in (known := cls.choices.get(name, (value,))):
            raise InvalidArgument(f"{option} must be one of {', '.join(map(repr, known))} (got {value!r:.80})")
        least, most = cls.limits.get(name, (0, 0))
        if name in cls.limits and not least <= value <= most:
            raise InvalidArgument(f"{option} must be from {least} to {most} (got {value!r:.80})")

    @abstractmethod
    def rebuild(self) -> None:
        """Index all live units of the store anew (after compaction, or when labels changed)."""

    @property
    def merge_due(self) -> bool:
        """Whether what came and went since the structure was last laid out should be merged into it."""
        return False

    def merged(self) -> Any:
        """The structure laid out anew, for `adopt`; None if `rebuild` is the only way.

        Changes nothing that a match call reads, so others may match meanwhile; nobody changes the units.
        """
        return None

    def adopt(self, built: Any) -> None:
        """Put what `merged` returned in the place of what there was, at once."""

    def merge_when_due(self) -> None:
        """Merge at once, where nobody takes turns with those who match."""
        if self.merge_due:
            self.adopt(self.merged())

    def reconsider(self) -> None:
        """Lay units out anew by what `event_statistics` tells by now."""

    def make_room(self) -> None:
        """Copy and prepare what some more units will need, while others match, who wait for what is left to a change.

        Nothing that matching reads may be another one afterwards, but for where it lies.
        """

    def foresee(self, times: int) -> None:
        """So many times as many events as were matched so far will come: have what pays off then made soon."""

    @abstractmethod
    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        """The hits of the events from `first` on, as far as the output reaches."""

    def one_event(self, workspace: Workspace) -> OneEventSearch | None:
        """The engine as it is, made ready for one event after the other in a thread's workspace; None if it has no more
        to offer than `match`. Holds until the engine changes."""
        return None

    def top(self, events: EncodedEvents, first: int, query: TopQuery, workspace: Workspace) -> Ranked:
        """The best rules of the events from `first` on, as far as the output reaches: of all hits, each scored.

        An engine that `ranks` answers by itself, and scores no more than it must.
        """
        return query.rank_hits(self.match(events, first, workspace), workspace)

    def header(self) -> dict[str, Any]:
        return {"options": self.settings, **super().header()} if self.shaped_by_options else super().header()

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self.check_options(header)
        super().restore(arrays, header)

    def check_options(self, header: Mapping[str, Any]) -> None:
        """Refuse a header of something that was laid out by other options."""
        if self.shaped_by_options:
            given = header.get("options")
            # What was saved before an option was there has its default; as published, the paper's value.
            before = {**self.options, **(self.published if self.as_published else {})}
            same = isinstance(given, Mapping) and self.shape({**before, **given}) == self.shape(self.settings)
            require(same, f"the options of the engine are not those of its {self.shaped_by_options}")

    def shape(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """What of the options others must have in common with those by which something was laid out, to use it."""
        return settings

    @property
    def always_candidates(self) -> int:
        """Units that are looked at for every event (the Z list)."""
        return 0

    def stats(self) -> dict[str, Any]:
        """Counts and bytes, JSON-able; an engine adds its own."""
        self.check()
        return {"always_candidates": self.always_candidates, "bytes_index": self.nbytes}

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when the structure is sound."""
        return []


class Engine(Structure):
    """A matching structure over a store of conjunctions."""

    unit_kind: ClassVar[str] = "conjunctions"
    clauses: ClassVar[bool] = False
    """Whether its units may be conjunctions of clauses, so that rules are handed over as such where that is smaller."""
    keeps_positions: ClassVar[bool] = False
    """Whether it keeps where the store has something: then no other engine may lay the same store out."""

    def __init__(self, store: Any, options: Mapping[str, Any] | None = None) -> None:
        self.store = store
        self._configure(options)
        self.start()

    def start(self) -> None:
        super().start()
        self._arrangement = self.store.arrangement

    def check(self) -> None:
        if not self.sound:
            self.store.check()
            super().check()
        if self.keeps_positions and self._arrangement is not self.store.arrangement:
            raise RuntimeError(f"another engine has laid out the store of this {self.name!r}: give each a copy")

    def rebuild(self) -> None:
        self.start()
        self.insert(self.store.live_units())

    def audit_indexed(self, indexed: NDArray[np.bool_]) -> list[str]:
        """Whether just the live units of the store are indexed; `indexed` may leave out the last ones."""
        known = np.zeros(self.store.count, np.bool_)
        known[: len(indexed)] = indexed
        wrong = np.flatnonzero(known != self.store.alive)
        return [f"unit {wrong[0]} is alive or indexed, but not both ({len(wrong)} such)"] if len(wrong) else []

    @abstractmethod
    def insert(self, units: NDArray[np.int32]) -> None:
        """Index units that the store already holds: one, or a million at once."""

    def weigh(self, units: NDArray[np.int32]) -> None:
        """The bounds of these units, which were inserted before, have risen."""

    @abstractmethod
    def remove(self, units: NDArray[np.int32]) -> None:
        """Stop reporting these units; the store still holds them, and marks them dead afterwards."""

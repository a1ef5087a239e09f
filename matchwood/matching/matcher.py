"""What the façade asks of a matcher: compiled engines over encoded units, or the oracle over parsed trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import STRICT, Chunk, Pace, Strictness
from matchwood.language import Expression
from matchwood.logic import Bind
from matchwood.matching.ledger.ledger import Ledger
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.live_rules import OldUses
from matchwood.matching.loading.preparation import Normal
from matchwood.matching.request import Dead, Request
from matchwood.ranking import RuleWeights
from matchwood.rules import RuleRows


class EventsAsked(Protocol):
    """Some of the events that are to be matched. The rules may change between two calls."""

    size: int
    first_row: int
    """The position of its first event in the whole input."""
    errors: list[tuple[int, str]]
    """Row and message of each value that does not fit, once rows were asked for, if they are to be told."""
    encoding: float
    """Seconds that took so far to read the events into codes."""

    def rows(self, first: int) -> RuleRows:
        """The rows for its events from `first` on, as far as the output reaches; positions are those of the input."""


class Matcher(Protocol):
    """What the façade asks of a way to match. The caller holds the lock that each call needs.

    A matcher also keeps the schema's count of what live rules ask of their attributes.
    """

    name: str
    """The engine that matches."""
    setting: str
    """What the index was made with: the same, or `auto`."""
    weight_caps: RuleWeights | None
    """Bounds that no rule may weigh more than."""
    ledger: Ledger
    """What is remembered of past events."""

    @property
    def reconsider_due(self) -> bool:
        """Whether matching looks at too much for what it finds, and `reconsider` might help."""

    def reconsider(self) -> None:
        """Lay the rules out by what is known of events by now; answers do not change."""

    def normal(self, expression: Expression, bind: Bind | None = None) -> Normal:
        """What a rule becomes before it is stored; errors of its patterns and types show here.

        `bind` is asked for the encoder's own, where that is remembered.
        """

    dnf_limit: int
    """The most conjunctions that a rule may become."""

    @property
    def takes_columns(self) -> int | None:
        """Which rules may come as columns, and become nothing else than their conjunctions; None for none.

        ANY_RULE, the shapes OR_OF_ANDS or AS_WRITTEN, or all AS_FORMS.
        """

    def insert(self, batch: Batch) -> None:
        """Add new rules."""

    def hold_back(self) -> bool:
        """Let new rules wait for `take_held_back`; until then none may be removed or replaced. False if none waits."""

    def take_held_back(self) -> None:
        """Lay out all rules, those that waited included."""

    def replace(self, rows: NDArray[np.int32], batch: Batch, old: OldUses = None) -> None:
        """Give the rules of distinct rows the texts of a batch; their ids and places stay.

        `old`  what the rules as they were ask of their attributes, and how many do, where that is known
        """

    def remove(self, rows: NDArray[np.int32]) -> None:
        """Take the rules of distinct rows out."""

    def clear(self) -> None:
        """Take all rules out."""

    def rebuild(self) -> None:
        """Lay everything out as if all rules had come at once."""

    def compact(self) -> None:
        """Give back the room of what is gone."""

    def make_room(self) -> None:
        """Prepare what some more rules will need, without the lock: nothing that others see changes."""

    @property
    def merge_due(self) -> bool:
        """Whether what came and went should be merged into the main structure."""

    def merged(self) -> Any:
        """Everything laid out anew for `adopt`, while others match; None if only `rebuild` can. No rule may change."""

    def adopt(self, built: Any) -> None:
        """Put what `merged` returned in the place of what there was, at once."""

    def listed(self, event: Mapping[str, Any], request: Request, strictness: Strictness = STRICT) -> list[Any]:
        """What is asked for of one event, as users get it."""

    def ask(
        self, events: Any, request: Request, strictness: Strictness = STRICT, threads: int = 1, dead: Dead = None
    ) -> Iterator[EventsAsked]:
        """Many events, in parts of bounded size, enough of them for so many threads; rules of `dead` rows do not count.

        Needs no lock: the next part may wait for the events' source.
        """

    def forget_scratch(self) -> None:
        """Drop what threads keep from call to call: a call was given up half-way."""

    def show(self, chunk: Chunk, pace: Pace, request: Request, dead: Dead) -> EventsAsked:
        """Some events that several matchers are shown. What is missing or does not fit is told elsewhere."""

    def agree(self, types: Mapping[str, str]) -> None:
        """Read events as these types alone: those that all matchers share which are shown the same events."""

    def stats(self) -> dict[str, Any]:
        """Counts and bytes of the engine and the stores."""

    def check(self) -> None:
        """Raise CorruptSnapshot unless the table and all that is stored beside it can be followed safely."""

    def audit(self) -> list[str]:
        """Broken invariants, in words."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state beside the table and the encoder, by name."""

    def header(self) -> dict[str, Any]:
        """What is small and not an array."""

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state."""

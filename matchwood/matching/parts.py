"""The parts of a matcher: each is a store of units and the engine that finds those which an event satisfies.

Units are numbered by their part alone. The table of rules keeps the links between units and rows, by the part's `kind`,
so that all parts answer in rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import EncodedConjunctions, EncodedRows, Encoder, spread
from matchwood.engines import ATree, BoundTable, ConjunctionStore, Engine, Structure
from matchwood.language import Expression
from matchwood.logic import (
    ANY_RULE,
    AS_FORMS,
    AS_WRITTEN,
    NEVER,
    OR_OF_ANDS,
    Bind,
    Clauses,
    Form,
    binary,
    dnf_of,
    form_of_rule,
    smaller_of,
    unsuppressed,
)
from matchwood.matching.bounds import batch_bounds
from matchwood.matching.loading.groups import Group, Incoming, groups_of
from matchwood.matching.loading.preparation import Normal
from matchwood.ranking import RuleWeights, caps_of
from matchwood.rules import UnitKind

Units: TypeAlias = NDArray[np.int32]
_LARGE = 2**16
"""Units whose arrays are copied in a millisecond or two: of fewer, nobody notices when that is."""

FIRST_NAMES = ("conjunctions", "engine")
"""Under which the store and the engine of the first part are saved."""


class MatcherPart(ABC):
    """One of the parts of a matcher.

    `kind`    what its units are, and the name of their links with rules
    `normal_forms`   the normal forms of rules that it stores
    `store`   its units; `engine` finds them
    `bounds`  how much the rules of each unit can score, where the engine asks for that
    `given`   what no rule may weigh more than, where the engine was given bounds
    """

    kind: UnitKind
    normal_forms: tuple[type, ...]
    store: Any
    engine: Any
    bounds: BoundTable | None = None
    weight_caps: RuleWeights | None = None

    @abstractmethod
    def normal(self, expression: Expression, bind: Bind, limit: int) -> Normal:
        """What a rule becomes where this is the first part."""

    def groups(self, rules: Incoming, first: bool) -> Iterator[Group]:
        """What of some rules is stored here; the first part also takes those in columns."""
        return groups_of(rules, self.normal_forms, first, self._unique)

    @property
    def _unique(self) -> bool:
        """Whether equal leaves of several expressions are to be one."""
        return True

    @abstractmethod
    def takes_columns(self, limit: int) -> int | None:
        """Which rules may come as columns where this is the first part, so that no tree of theirs is looked at."""

    def add(self, encoded: Any) -> Any:
        """Take units in, and count one use of each: their numbers, and what was there already."""
        return self.store.add(encoded)

    @abstractmethod
    def index(self, added: Any, group: Group, encoded: Any, encoder: Encoder) -> None:
        """Hand what is new in the store to the engine."""

    @abstractmethod
    def await_index(self, added: Any, group: Group, encoded: Any, encoder: Encoder) -> None:
        """Note what is known of units only now, which the engine takes from the store later, with all others."""

    @abstractmethod
    def drop(self, units: Units) -> EncodedConjunctions | None:
        """Count one use less of each unit; returns the constraints that went with those that have none left."""

    def compact(self) -> Units:
        """Give back the numbers of dead units; returns old number to new, -1 for the dead. Rebuild afterwards."""
        moved: Units = self.store.compact()
        return moved

    @abstractmethod
    def make_room(self) -> None:
        """Prepare what some more units will need, while others match."""

    @abstractmethod
    def rooms(self) -> dict[str, Any]:
        """What is saved, by the name of its arrays in a snapshot."""


Encoded: TypeAlias = EncodedConjunctions | EncodedRows


class StorePart(MatcherPart):
    """A store of conjunctions, or of conjunctions of clauses, and an engine over it.

    `saved_as`  the names in a snapshot: of the store, and of the engine
    """

    store: ConjunctionStore
    engine: Engine

    def __init__(
        self, kind: UnitKind, engine: Engine, normal_forms: tuple[type, ...], saved_as: tuple[str, str]
    ) -> None:
        self.kind, self.normal_forms, self.engine, self.store = kind, normal_forms, engine, engine.store
        self.weight_caps, self._saved_as = caps_of(engine.settings.get("bounds")), saved_as

    def make_room(self) -> None:
        if self.store.count >= _LARGE:
            self.store.make_room()
            self.engine.make_room()

    def keep_bounds(self) -> None:
        """Have bounds of all units from now on."""
        self.bounds = self.engine.bounds = BoundTable(self.store)

    @property
    def _form(self) -> str:
        return str(self.engine.settings["form"]) if self.store.clauses else "dnf"

    def normal(self, expression: Expression, bind: Bind, limit: int) -> Normal:
        """Conjunctions, or clauses where those are smaller and the engine takes them; or a form if both are many."""
        if self._form == "dnf":
            return dnf_of(expression, bind, limit)
        return smaller_of(expression, bind, limit, clauses_only=self._form == "cnf")

    def takes_columns(self, limit: int) -> int | None:
        if self.weight_caps or self._form == "cnf" or limit <= 0:
            return None
        if self.bounds is not None:
            return AS_WRITTEN
        return ANY_RULE if self._form == "dnf" else OR_OF_ANDS

    def index(self, added: Any, group: Group, encoded: Encoded, encoder: Encoder) -> None:
        raised = self._raise_bounds(added.units, group, encoded, encoder)
        if len(added.new_units):
            self.engine.insert(added.new_units)
        if len(raised) and len(risen := np.setdiff1d(raised, added.new_units)):
            self.engine.weigh(risen)

    def await_index(self, added: Any, group: Group, encoded: Encoded, encoder: Encoder) -> None:
        self._raise_bounds(added.units, group, encoded, encoder)

    def _raise_bounds(self, units: Units, group: Group, encoded: Encoded, encoder: Encoder) -> Units:
        """Note how much the rules of these units can score; returns the units whose bounds have risen."""
        if self.bounds is None:
            return np.empty(0, np.int32)
        constraints = spread(encoded) if isinstance(encoded, EncodedRows) else encoded
        return self.bounds.raise_to(units, batch_bounds(encoder, group, constraints, self.weight_caps))

    def drop(self, units: Units) -> EncodedConjunctions | None:
        freed = self.store.drop(units)
        if not len(freed):
            return None
        released: EncodedConjunctions = self.store.encoded(freed)
        self.engine.remove(freed)
        self.store.free(freed)
        return released

    def compact(self) -> Units:
        moved = super().compact()
        if self.bounds is not None:
            self.bounds.compact(moved)
        return moved

    def rooms(self) -> dict[str, Any]:
        store, engine = self._saved_as
        bounds = {} if self.bounds is None else {"bounds": self.bounds}
        return {store: self.store, **bounds, engine: self.engine}


class BesidePart(StorePart):
    """One that stands beside the first: nobody merges its engine in turns, so it does that when units come."""

    def index(self, added: Any, group: Group, encoded: Encoded, encoder: Encoder) -> None:
        super().index(added, group, encoded, encoder)
        self.engine.merge_when_due()


class TreePart(MatcherPart):
    """An A-Tree of whole expressions, which is store and engine in one.

    One that stands `alone` is saved with a store of conjunctions in which nothing is.
    """

    kind: UnitKind = "forms"
    normal_forms: tuple[type, ...] = (Form,)
    store: ATree
    engine: ATree

    def __init__(self, tree: ATree, saved_as: str = "forms", alone: bool = False) -> None:
        self.store = self.engine = tree
        self._rooms = {**({FIRST_NAMES[0]: ConjunctionStore()} if alone else {}), saved_as: tree}

    def normal(self, expression: Expression, bind: Bind, limit: int) -> Normal:
        """The whole expression, or nothing if it is never true."""
        suppressed = self.store.settings["zero_suppression"]
        form = form_of_rule(expression, bind) if suppressed else unsuppressed(expression, bind)
        if form == NEVER:
            return []
        return binary(form) if self.store.settings["binary"] else form

    @property
    def _unique(self) -> bool:
        return bool(self.store.settings["unique"])

    def takes_columns(self, limit: int) -> int | None:
        suppressed, binary_nodes = self.store.settings["zero_suppression"], self.store.settings["binary"]
        return AS_FORMS if suppressed and not binary_nodes else None

    def index(self, added: Any, group: Group, encoded: Any, encoder: Encoder) -> None:
        """The tree has taken it in already."""

    def await_index(self, added: Any, group: Group, encoded: Any, encoder: Encoder) -> None:
        """Nothing waits."""

    def drop(self, units: Units) -> EncodedConjunctions | None:
        gone = self.store.drop(units)
        return self.store.free(gone) if len(gone) else None

    def make_room(self) -> None:
        """A tree grows within a change, by half of its size at most."""

    def rooms(self) -> dict[str, Any]:
        return self._rooms


def parts_of(chosen: type[Structure], options: Mapping[str, Any]) -> tuple[MatcherPart, ...]:
    """An engine over conjunctions, and an A-Tree for the rules that have too many; or an A-Tree alone."""
    made: Any = chosen
    if not issubclass(chosen, Engine):
        return (TreePart(made(options), alone=True),)
    engine = made(ConjunctionStore(clauses=chosen.clauses), options)
    first = StorePart("conjunctions", engine, (Clauses, list) if chosen.clauses else (list,), FIRST_NAMES)
    if chosen.ranks:
        first.keep_bounds()
    return first, TreePart(ATree())


def busy(parts: Sequence[MatcherPart]) -> list[MatcherPart]:
    """The parts that an event is shown to: the first, and those of the others that hold anything."""
    return [parts[0], *[part for part in parts[1:] if part.store.live]]

"""The table of rules: ids, texts and weights by row, and the links between rows and what engines store.

A rule's row is its rule order. Rows only grow: a replacement keeps its row, a deletion leaves a hole
until `compact`. Everything is kept in arrays, so a table of ten million rules is opened by mapping its files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from matchwood.core import Growable
from matchwood.engines import Hits, Workspace
from matchwood.errors import CorruptSnapshot, InvalidArgument, UnknownRule
from matchwood.rules.heap import ByteHeap
from matchwood.rules.hits import ROOM, OneEventIds, RuleRows, rows_of_hits
from matchwood.rules.ids import IdColumn
from matchwood.rules.keys import INT, Id, Ids
from matchwood.rules.links import RuleLinks
from matchwood.rules.saved import part, prefixed, refuse_misfits, whole_numbers
from matchwood.rules.strings import Strings, encode_many
from matchwood.rules.weights import WeightColumns, constants_of, texts_of

UnitKind: TypeAlias = Literal["conjunctions", "clauses", "forms"]
UnitsByKind: TypeAlias = dict[UnitKind, NDArray[np.int32]]
PIECE = 4096
"""Ids decoded at once when all are walked."""


class RuleTable:
    """All rules of an index, by row.

    >>> table = RuleTable()
    >>> rows = table.insert_many(["r1", "r2"], ["age > 5", "vip"])
    >>> table.link(rows, [7, 8], "conjunctions")
    >>> table.row_of("r2"), table.text(1), list(table)
    (1, 'vip', ['r1', 'r2'])
    """

    def __init__(self) -> None:
        self._ids = IdColumn()
        self._texts = ByteHeap()
        self._weights = WeightColumns()
        self._alive = Growable(np.uint8)
        self._links: dict[UnitKind, RuleLinks] = {"conjunctions": RuleLinks(), "forms": RuleLinks()}
        self._changes = 0
        self._trusted = True

    def __len__(self) -> int:
        """The live rules."""
        return self._ids.live

    @property
    def row_count(self) -> int:
        """The rows, holes included."""
        return self._alive.count

    # Ids

    def find(self, rule_id: object) -> int:
        """The live row of an id, or -1."""
        return self._ids.find(rule_id)

    def row_of(self, rule_id: object) -> int:
        """The live row of an id; raises UnknownRule."""
        row = self._ids.find(rule_id)
        if row < 0:
            raise UnknownRule(rule_id)
        return row

    def rows_of(self, ids: Ids) -> NDArray[np.int32]:
        """The live row of each id, or -1."""
        return self._ids.find_many(ids)

    def locate(self, ids: Ids) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each id its live row or -1, and the position of its first occurrence among those given.

        An id that cannot be inserted is an InvalidArgument that names it.
        """
        return self._ids.locate(ids)

    def checked_id(self, rule_id: object, beside: Id | None = None) -> Id:
        """An id as the table keeps it; raises InvalidArgument if it may not be inserted, or not `beside` that one."""
        return self._ids.checked(rule_id, beside)

    @property
    def id_kind(self) -> type[int] | type[str] | None:
        """Whether ids are int or str; None while there has been no rule."""
        return None if self._ids.kind is None else int if self._ids.kind == INT else str

    @property
    def id_type(self) -> pa.DataType:
        """The type of `ids`: int64 or string."""
        return self._ids.arrow_type

    def ids(self, rows: NDArray[Any]) -> pa.Array:
        """The ids of many rows, as an Arrow array."""
        return self._ids.take(rows)

    def ids_of(self, found: RuleRows) -> pa.Array:
        """The ids of all rules that were found, as an Arrow array."""
        return self._ids.take(found.rows) if found.ids is None else pa.array(found.ids)

    def id_list(self, rows: NDArray[Any]) -> list[int] | list[str]:
        """The ids of a few rows, as Python objects."""
        return self._ids.to_list(rows)

    def __iter__(self) -> Iterator[Id]:
        """The ids of the live rules in rule order."""
        changes, rows = self._changes, self.live_rows()
        for start in range(0, len(rows), PIECE):
            for rule_id in self._ids.to_list(rows[start : start + PIECE]):
                yield rule_id
                if self._changes != changes:
                    raise RuntimeError("rules were inserted or deleted during iteration: iterate over list(index)")

    def live_rows(self) -> NDArray[np.int32]:
        """The rows of all live rules, ascending."""
        return np.flatnonzero(self._alive.view()).astype(np.int32)

    # Texts and weights

    def text(self, row: int) -> str:
        """The rule's text as it was given."""
        return self._texts.text(row)

    def texts(self, rows: NDArray[Any]) -> pa.StringArray:
        """The texts of many rows, as an Arrow array."""
        return self._texts.take(rows)

    def weight(self, row: int) -> float:
        """The rule's constant weight."""
        return float(self._weights.constants()[row])

    def weights(self) -> NDArray[np.float64]:
        """The constant weight of every row, read-only."""
        return self._weights.constants()

    def weights_json(self, row: int) -> str | None:
        """The rule's weights of values as JSON text, if it has any."""
        return self._weights.json(row)

    def options(self, row: int) -> dict[str, Any] | None:
        """What the rule of a row weighs, as users say it; None if there is no such row."""
        return None if row < 0 else {"weight": self.weight(row), "weights": self.weights_json(row)}

    # Changes

    def insert_many(
        self, ids: Ids, texts: Strings, weights: ArrayLike | None = None, weights_json: Strings | None = None
    ) -> NDArray[np.int32]:
        """Add rules, all or none: an id that is live or given twice is refused. Returns their rows."""
        self._before_change()
        keys, encoded = self._ids.keys(ids), encode_many(texts)
        if keys.size != encoded.size:
            raise InvalidArgument(f"{keys.size} ids but {encoded.size} texts")
        constants, json_texts = constants_of(weights, keys.size), texts_of(weights_json, keys.size)
        rows = self._ids.add_many(keys)
        self._texts.extend(encoded)
        self._weights.extend(constants, json_texts)
        self._alive.resize(self.row_count + len(rows), 1)
        self._changes += 1
        return rows

    def replace_many(
        self, rows: ArrayLike, texts: Strings, weights: ArrayLike | None = None, weights_json: Strings | None = None
    ) -> None:
        """Give distinct live rows other texts and weights; their links are the caller's to change."""
        self._before_change()
        chosen, encoded = self._live(rows), encode_many(texts)
        if len(chosen) != encoded.size:
            raise InvalidArgument(f"{len(chosen)} rows but {encoded.size} texts")
        constants, json_texts = constants_of(weights, len(chosen)), texts_of(weights_json, len(chosen))
        self._texts.replace_many(chosen, encoded)
        self._weights.replace_many(chosen, constants, json_texts)

    def replace_text(self, row: int, text: str, weight: float = 0.0, weights_json: str | None = None) -> None:
        """Give one live row another text and other weights; its links are the caller's to change."""
        self.replace_many([row], [text], [weight], [weights_json])

    def remove_many(self, rows: ArrayLike) -> UnitsByKind:
        """Remove distinct live rows; returns the units they were still linked with."""
        self._before_change()
        chosen = self._live(rows)
        self._ids.remove_many(chosen)
        self._texts.clear(chosen)
        self._weights.clear(chosen)
        self._alive.writable()[chosen] = 0
        self._changes += 1
        return self.unlink_many(chosen)

    def remove(self, row: int) -> UnitsByKind:
        """Remove one live row; returns the units it was still linked with."""
        return self.remove_many([row])

    def _live(self, rows: ArrayLike) -> NDArray[np.int32]:
        chosen = np.ascontiguousarray(rows, np.int32)
        alive = self._alive.view()
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= len(alive) or not alive[chosen].all()):
            raise IndexError("a row holds no live rule")
        if len(chosen) > 1 and len(np.unique(chosen)) != len(chosen):
            raise IndexError("a row is given twice")
        return chosen

    def _before_change(self) -> None:
        """Matching checks each number that it follows; changing trusts them, so it looks at all of them once."""
        if not self._trusted:
            self.check()

    # Links

    def link(self, rows: ArrayLike, units: ArrayLike, kind: UnitKind) -> None:
        """Say that the rules in these rows use these units, pair by pair."""
        self._before_change()
        linked = np.ascontiguousarray(rows, np.int32)
        if len(linked) and (linked.min() < 0 or linked.max() >= self.row_count or not self._alive.view()[linked].all()):
            raise IndexError("a row holds no live rule")
        self._links[kind].link(linked, units)

    def tell_clauses_apart(self) -> None:
        """Keep links of clauses, which snapshots may still have among those of forms.

        Those numbered both in one row: forms have even numbers there, and clauses odd ones.
        """
        if "clauses" in self._links:
            return
        rows, units = self._links["forms"].pairs()
        odd = units % 2 == 1
        self._links["clauses"] = RuleLinks()
        if len(rows):
            self._links["clauses"].rebuild(rows[odd], units[odd] // 2)
            self._links["forms"].rebuild(rows[~odd], units[~odd] // 2)

    def units(self, row: int) -> UnitsByKind:
        """The units of one row."""
        return {kind: links.units_of(row) for kind, links in self._links.items()}

    def unlink(self, row: int) -> UnitsByKind:
        """Remove all links of one row; returns the units it had."""
        return self.unlink_many([row])

    def unlink_many(self, rows: ArrayLike) -> UnitsByKind:
        """Remove all links of these rows; returns the units they had, once a link."""
        self._before_change()
        return {kind: links.unlink(rows) for kind, links in self._links.items()}

    def pairs(self, kind: UnitKind) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All links of a kind, as rows and units."""
        return self._links[kind].pairs()

    def rows_of_unit(self, unit: int, kind: UnitKind) -> NDArray[np.int32]:
        """The rows that use a unit, in no particular order."""
        return self._links[kind].rows_of(unit)

    def reading(self, kind: UnitKind) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """What kernels follow from units to rows, as `links.py` describes: unit_heads and chain."""
        return self._links[kind].reading()

    def rows(
        self,
        found: Mapping[UnitKind, Hits],
        first: int,
        workspace: Workspace,
        room: int = ROOM,
        as_ids: bool = False,
    ) -> RuleRows:
        """The rules of the events from `first` on, as far as the hits of all kinds and the output reach.

        At most `room` rows come back, unless a single event has more. With `as_ids` there may be ids in their place.
        """
        linked = [(hits, self._links[kind]) for kind, hits in found.items()]
        first_id = self._ids.counts_on_from(sum(len(hits.units) for hits in found.values())) if as_ids else None
        return rows_of_hits(linked, first, self.row_count, workspace, room, first_id)

    def one_event(self, units: NDArray[np.int32], kind: UnitKind, workspace: Workspace) -> OneEventIds:
        """Ids for one event after the other, whose units of a kind stand at one place; until a rule changes."""
        return OneEventIds(units, self._links[kind], self._ids, self.row_count, workspace)

    # Upkeep

    def compact(self, remaps: Mapping[UnitKind, NDArray[np.int32]] | None = None) -> NDArray[np.int32]:
        """Drop holes and garbage, keep rule order, and name units as the maps (old number to new) say.

        Returns the new row of every old one, -1 for holes.
        """
        self._before_change()
        kept = self.live_rows()
        moved = np.full(self.row_count, -1, np.int32)
        moved[kept] = np.arange(len(kept), dtype=np.int32)
        named = remaps or {}
        pairs = {kind: _remapped(links, moved, named.get(kind)) for kind, links in self._links.items()}
        for kind, (rows, units) in pairs.items():
            self._links[kind].rebuild(rows, units)
        for column in (self._ids, self._texts, self._weights):
            column.keep(kept)
        self._alive = Growable(np.uint8, np.ones(len(kept), np.uint8))
        self._changes += 1
        return moved

    @property
    def bytes_text(self) -> int:
        """The bytes of what users wrote: texts of rules and of weights."""
        return self._texts.nbytes + self._weights.nbytes_json

    def stats(self) -> dict[str, int]:
        """Counts and bytes."""
        links = self._links.values()
        return {
            "rules": len(self),
            "holes": self.row_count - len(self),
            "bytes_text": self.bytes_text,
            "bytes_ids": self._ids.nbytes,
            "bytes_links": sum(each.nbytes for each in links),
            "bytes_weights": self._weights.nbytes - self._weights.nbytes_json,
            "garbage_text": self._texts.garbage,
            "garbage_links": sum(each.garbage for each in links),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, by name."""
        named = prefixed("ids", self._ids.arrays()) | prefixed("texts", self._texts.arrays())
        named |= prefixed("weights", self._weights.arrays())
        for kind, links in self._links.items():
            named |= prefixed(kind, links.arrays())
        return {"alive": self._alive.view(), **named}

    def header(self) -> dict[str, Any]:
        """What is small and not an array, JSON-able."""
        links: dict[str, Any] = {kind: links.header() for kind, links in self._links.items()}
        texts = {"garbage": self._texts.garbage}
        return {"ids": self._ids.header(), "texts": texts, "weights": self._weights.header(), **links}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state; arrays may be read-only maps of files. Looks at sizes only: see `check`."""
        known = {**RuleTable().arrays(), **prefixed("weights.json", ByteHeap().arrays())}
        self._links.pop("clauses", None)
        if "clauses" in header:
            self._links["clauses"] = RuleLinks()
            known |= prefixed("clauses", RuleLinks().arrays())
        refuse_misfits(arrays, known)
        whole_numbers(header)
        try:
            self._ids.restore(part(arrays, "ids"), header["ids"])
            self._texts.restore(part(arrays, "texts"), header["texts"]["garbage"])
            self._weights.restore(part(arrays, "weights"), header["weights"])
            for kind, links in self._links.items():
                links.restore(part(arrays, kind), header[kind])
            self._alive = Growable(np.uint8, arrays["alive"])
        except (KeyError, TypeError) as error:
            raise CorruptSnapshot(f"the table of rules lacks {error}") from None
        self._changes += 1
        self._trusted = False
        self._check_sizes()

    def _check_sizes(self) -> None:
        sizes = {"ids": len(self._ids), "texts": len(self._texts), "weights": len(self._weights)}
        wrong = [f"{name} ({size})" for name, size in sizes.items() if size != self.row_count]
        if wrong or len(self) > self.row_count:
            raise CorruptSnapshot(f"the table of rules has {self.row_count} rows, but {len(self)} rules, {wrong}")

    def check(self) -> None:
        """Raise CorruptSnapshot unless every offset, row and unit lies within its array.

        Reads the whole table once. Matching and reading are safe without it, since they check what they follow;
        the first change to a restored table calls it.
        """
        self._check_sizes()
        self._ids.check()
        self._texts.check("texts")
        self._weights.check()
        for kind, links in self._links.items():
            links.check(kind, self.row_count)
        alive = self._alive.view()
        if int(np.count_nonzero(alive)) != len(self) or (len(alive) and alive.max() > 1):
            raise CorruptSnapshot(f"the table of rules does not hold the {len(self)} live rows that it should")
        self._trusted = True

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when the table is sound."""
        problems = self._ids.audit(self.live_rows()) + self._texts.audit("texts") + self._weights.audit()
        for kind, links in self._links.items():
            rows, _ = links.pairs()
            dead = np.unique(rows[self._alive.view()[rows] == 0])
            problems += [f"{kind}: row {row} is dead but linked" for row in dead[:10].tolist()]
            problems += links.audit(kind)
        return problems


def _remapped(
    links: RuleLinks, moved: NDArray[np.int32], remap: NDArray[np.int32] | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    rows, units = links.pairs()
    if remap is not None:
        if len(units) and units.max() >= len(remap):
            raise IndexError(f"unit {units.max()} is in use but not in the map of {len(remap)} units")
        units = np.asarray(remap, np.int32)[units]
        if len(units) and units.min() < 0:
            raise IndexError("a unit that is in use is dropped by the map")
    return moved[rows], units

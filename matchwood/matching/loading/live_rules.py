"""What both matchers do to the table and the schema when rules come and go."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Schema, Use
from matchwood.engines import UnitTable
from matchwood.errors import CorruptSnapshot
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.preparation import stored_uses
from matchwood.rules import RuleTable, UnitKind, UnitsByKind

Rows: TypeAlias = NDArray[np.int32]
OldUses: TypeAlias = Iterable[tuple[Use, int]] | None
"""What rules that give way to others ask of their attributes, and how many of them do; None to read their texts."""


def insert_rules(table: RuleTable, schema: Schema, batch: Batch) -> Rows:
    """Put new rules into the table, which takes all or none, and count their types."""
    rows = table.insert_many(batch.ids, batch.texts, batch.constants, batch.by_attribute or None)
    schema.add_all(batch.uses)
    return rows


def replace_rules(table: RuleTable, schema: Schema, rows: Rows, batch: Batch, old: OldUses = None) -> None:
    """Give rows the texts of a batch, and count the new types for the old."""
    if old is None:
        old = counted_uses(stored_uses(schema, table.text(row)) for row in rows.tolist())
    # The new ones are added first: an attribute that keeps its type then never loses it in between.
    schema.add_all(batch.uses)
    with _damage():
        schema.remove_all(old)
    table.replace_many(rows, batch.texts, batch.constants, batch.by_attribute or None)


def counted_uses(uses: Iterable[list[Use]]) -> list[tuple[Use, int]]:
    """How many rules have each use, of the uses of each."""
    return list(Counter(chain.from_iterable(uses)).items())


def remove_rules(table: RuleTable, schema: Schema, rows: Rows) -> UnitsByKind:
    """Take rows out of the table and of the count of types; returns the units that they had."""
    for row in rows.tolist():
        forget_types(schema, stored_uses(schema, table.text(row)))
    return table.remove_many(rows)


def forget_types(schema: Schema, uses: list[Use]) -> None:
    """Count the uses of a rule down."""
    with _damage():
        schema.remove(uses)


@contextlib.contextmanager
def _damage() -> Iterator[None]:
    """A use that nobody is known to have is one of a damaged snapshot."""
    try:
        yield
    except KeyError as error:
        raise CorruptSnapshot(f"no rule is known to use {error}: the snapshot is damaged") from error


def check_links(table: RuleTable, store: UnitTable, kind: UnitKind) -> None:
    """Raise CorruptSnapshot unless each unit is linked as often as it is used, and no link leads beyond them."""
    _, units = table.pairs(kind)
    uses = np.bincount(units, minlength=store.count) if len(units) else np.zeros(store.count, np.int64)
    if len(uses) != store.count or (uses != store.uses).any():
        raise CorruptSnapshot(f"{kind}: rules are not linked with them as often as they are used")

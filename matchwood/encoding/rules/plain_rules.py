"""Plain rules: conjunctions of comparisons, read from many texts at once into columns of integers.

Most rules of a large index join comparisons of plain attributes with constants by `and`. Such a text is cut at its
ands, and each piece is an attribute and a *test*: what stands behind the name. Tests repeat, whatever attribute they
are of; so the set of values behind `>= 18` is found once, and a piece becomes two small integers. No tree, no leaf and
no form is made. All that is not plain is left to the parser: other operators and shapes, names in quotes, pieces
that the schema refuses or that nothing or everything passes, and rules that name an attribute twice.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.encoder import Encoder
from matchwood.encoding.rules.flattening import LeafRows, by_first_use
from matchwood.encoding.schema.inferred import Schema, Use
from matchwood.encoding.schema.requirements import requirement
from matchwood.errors import MatchwoodError
from matchwood.language import (
    NAME,
    PATTERNS,
    has_surrogate,
    make_predicate,
    match_whole,
    pieces_of,
    read_test,
    unquoted_name,
)
from matchwood.logic import IS_TRUE, CutSet, Form, Leaf, conjunction_form, of_predicate

MOST_PIECES = 300_000
"""Pieces of text that are remembered, some 150 bytes each; then all are forgotten."""

LONGEST_TEXT = 100_000
"""Characters of a text that is cut at its ands; the parser knows what to say of very long ones."""

KINDS = ("any", "bool", "number", "string", "timestamp")
"""What a test can ask of its attribute."""

_SHIFT, _MASK = 32, 2**32 - 1
_KIND_BITS, _KIND_MASK = 3, 7


class _Values(NamedTuple):
    """What a test accepts of attributes of one declared type, or of none."""

    cuts: CutSet
    null: bool
    kind: int


class PlainReader:
    """Reads plain rules for one encoder, and remembers the pieces of their texts.

    >>> reader = PlainReader(Encoder())
    >>> found = reader.read(["age >= 18 and vip", "age >= 18 or vip", "vip and level between 2 and 3"])
    >>> found.positions.tolist(), found.lengths.tolist(), found.uses[0][:2]
    ([0, 2], [2, 2], (('age', 'number'), 1))
    """

    def __init__(self, encoder: Encoder) -> None:
        self._declared, self._bind = encoder.schema.declared, encoder.bind
        self._forget()

    def _forget(self) -> None:
        self._codes: dict[str, int] = {}
        """Attribute and values of each piece that was met."""
        self._names: dict[str, tuple[int, dict[str, int]]] = {}
        """The number of each attribute, shifted, and the numbers of values by test for its declared type."""
        self._tests: dict[str | None, dict[str, int]] = {}
        self.attributes: list[str] = []
        self.values: list[_Values] = []

    def read(self, texts: Sequence[str | None]) -> PlainRules:
        """Those of the texts that are plain."""
        if len(self._codes) > MOST_PIECES:
            self._forget()
        positions: list[int] = []
        lengths: list[int] = []
        codes: list[int] = []
        known = self._codes
        for position, text in enumerate(texts):
            if text is None or len(text) > LONGEST_TEXT:
                continue
            pieces = pieces_of(text)
            try:
                row = [known[piece] for piece in pieces]
            except KeyError:
                learned = self._learned(pieces)
                if learned is None:
                    continue
                row = learned
            positions.append(position)
            lengths.append(len(row))
            codes += row
        return PlainRules(self, np.array(positions, np.int64), np.array(lengths, np.int64), np.array(codes, np.int64))

    def _learned(self, pieces: list[str]) -> list[int] | None:
        row = []
        for piece in pieces:
            code = self._codes.get(piece)
            if code is None:
                code = self._learn(piece)
                if code is None:
                    return None
            row.append(code)
        return row

    def _learn(self, piece: str) -> int | None:
        name, _, test = piece.partition(" ")
        attribute = self._names.get(name)
        values = None if attribute is None else attribute[1].get(test)
        if attribute is None or values is None:
            return self._study(piece)
        code = self._codes[piece] = attribute[0] | values
        return code

    def _study(self, piece: str) -> int | None:
        """The code of a piece whose attribute or test is new; None if it is not plain."""
        found = match_whole(piece)
        if found is None or has_surrogate(piece) or (name := unquoted_name(found[NAME])) is None:
            return None
        op, value = read_test(found)
        accepted = None if op in PATTERNS else self._accepted(name, op, value)
        if accepted is None:
            return None
        base, tests = self._named(name)
        number = tests.setdefault(piece[found.end(NAME) :].removeprefix(" "), len(self.values))
        if number == len(self.values):
            self.values.append(accepted)
        code = self._codes[piece] = base | number
        return code

    def _named(self, name: str) -> tuple[int, dict[str, int]]:
        found = self._names.get(name)
        if found is None:
            tests = self._tests.setdefault(self._declared.type_of(name), {})
            found = self._names[name] = len(self.attributes) << _SHIFT, tests
            self.attributes.append(name)
        return found

    def _accepted(self, name: str, op: str, value: Any) -> _Values | None:
        predicate = make_predicate(name, op, value, None, None)
        try:
            kind, bound = requirement(predicate), self._bind(predicate)
        except MatchwoodError:
            return None
        answer = of_predicate(bound, IS_TRUE)
        if not isinstance(answer, Leaf) or answer.attribute != name:
            return None
        return _Values(answer.cuts, answer.null, KINDS.index(kind))


class PlainRules:
    """Plain rules by their positions among the texts; leaves as codes, in the order of the text."""

    def __init__(
        self,
        reader: PlainReader,
        positions: NDArray[np.int64],
        lengths: NDArray[np.int64],
        codes: NDArray[np.int64],
    ) -> None:
        self._reader = reader
        self.positions, self.lengths, self.codes = positions, lengths, codes

    def __len__(self) -> int:
        return len(self.positions)

    def at(self, positions: NDArray[np.int64]) -> PlainRules:
        """The same rules elsewhere."""
        return PlainRules(self._reader, positions, self.lengths, self.codes)

    @functools.cached_property
    def _owners(self) -> NDArray[np.int64]:
        """For each leaf its rule."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @functools.cached_property
    def _asked(self) -> NDArray[np.int64]:
        """For each leaf the use that it makes of its attribute, as one integer."""
        kinds = np.array([values.kind for values in self._reader.values], np.int64)
        asked: NDArray[np.int64] = self.codes >> _SHIFT << _KIND_BITS | kinds[self.codes & _MASK]
        return asked

    def _use(self, asked: int) -> Use:
        return self._reader.attributes[asked >> _KIND_BITS], KINDS[asked & _KIND_MASK]

    @functools.cached_property
    def uses(self) -> list[tuple[Use, int, int]]:
        """Each use, how many rules make it, and the position of the first of them; in the order of the texts."""
        asked, first, counts = np.unique(self._asked, return_index=True, return_counts=True)
        order = np.argsort(first)
        positions = self.positions[self._owners[first[order]]]
        rows = zip(asked[order].tolist(), counts[order].tolist(), positions.tolist(), strict=True)
        return [(self._use(use), count, position) for use, count, position in rows]

    def agree_with(self, schema: Schema) -> bool:
        """Whether live rules allow all their uses."""
        return all(schema.allows(use) for use, _, _ in self.uses)

    def undisputed(self, schema: Schema) -> PlainRules:
        """Without rules that name an attribute twice, or whose types are not those of all others and of live rules."""
        disputed = np.zeros(len(self), np.bool_)
        pairs = np.sort(self._owners << _SHIFT | self.codes >> _SHIFT)
        disputed[pairs[1:][pairs[1:] == pairs[:-1]] >> _SHIFT] = True
        asked, inverse = np.unique(self._asked, return_inverse=True)
        disputed[self._owners[self._against(asked, schema)[inverse]]] = True
        return self if not disputed.any() else self._only(~disputed)

    def _against(self, asked: NDArray[np.int64], schema: Schema) -> NDArray[np.bool_]:
        """Which uses are against a live rule, or against each other."""
        compared = asked[asked & _KIND_MASK != KINDS.index("any")] >> _KIND_BITS
        several = np.unique(compared[1:][compared[1:] == compared[:-1]]).tolist()
        open_names = [number for number in several if not schema.is_decided(self._reader.attributes[number])]
        against = np.isin(asked >> _KIND_BITS, open_names)
        agreed = map(schema.allows, map(self._use, asked.tolist()))
        return against | ~np.fromiter(agreed, np.bool_, len(asked))

    def _only(self, kept: NDArray[np.bool_]) -> PlainRules:
        return PlainRules(self._reader, self.positions[kept], self.lengths[kept], self.codes[kept[self._owners]])

    @functools.cached_property
    def _in_order(self) -> NDArray[np.int64]:
        """The codes with the leaves of each rule by the names of their attributes."""
        attributes = self._reader.attributes
        used = np.unique(self.codes >> _SHIFT)
        ranks = np.empty(len(attributes), np.int64)
        ranks[sorted(used.tolist(), key=attributes.__getitem__)] = np.arange(len(used))
        ordered: NDArray[np.int64] = self.codes[np.argsort(self._owners << _SHIFT | ranks[self.codes >> _SHIFT])]
        return ordered

    def rows(self) -> LeafRows:
        """Their conjunctions."""
        leaf_of, codes = by_first_use(self._in_order)
        held = list(map(self._reader.values.__getitem__, (codes & _MASK).tolist()))
        keys = list(map(self._reader.attributes.__getitem__, (codes >> _SHIFT).tolist()))
        nulls = np.array([values.null for values in held], np.bool_)
        return LeafRows(self.lengths, leaf_of, keys, [values.cuts for values in held], nulls)

    def forms(self) -> list[Form]:
        """Their forms."""
        rows = self.rows()
        leaves = list(map(Leaf, rows.keys, rows.cuts, rows.nulls.tolist()))
        every = list(map(leaves.__getitem__, rows.leaf_of.tolist()))
        ends = np.cumsum(self.lengths).tolist()
        lengths = self.lengths.tolist()
        return [conjunction_form(tuple(every[end - length : end])) for length, end in zip(lengths, ends, strict=True)]

"""Some rules as they were handed over, one by one or in Arrow columns; nothing is checked yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.errors import MatchwoodError
from matchwood.language import has_surrogate
from matchwood.matching.loading.preparation import PreparedRule
from matchwood.rules import Ids, Strings, Utf8, encode_many


class RuleSource(NamedTuple):
    """One rule as handed over. `problem` says why it cannot even be one."""

    id: Any
    expression: Any
    options: Any = None
    problem: MatchwoodError | None = None


LEAST_COMPILED = 2_000
"""Rules that make it worth to look at a chunk as columns: fewer take less than half a second one by one, and nobody who
has a few should wait until the kernels are compiled or loaded."""

MOST_BYTES = 1 << 27
"""Bytes of the texts that are looked at as columns at a time, whose trees take a few times as much."""


class Texts(NamedTuple):
    """The bytes of a chunk's texts, and which of them are `given`: rules that are text and a plain weight at most."""

    utf8: Utf8
    given: NDArray[np.bool_]


class RuleChunk(Protocol):
    """Some rules. Positions are those among them."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """The bytes of its texts, roughly."""

    def part(self, start: int, stop: int) -> RuleChunk:
        """The rules at these positions, as a chunk."""

    @property
    def ids(self) -> Ids:
        """All ids, whatever they are."""

    def id_at(self, position: int) -> Any:
        """One of them, as a Python object."""

    def ids_at(self, positions: NDArray[np.int64]) -> Ids:
        """Some of them."""

    def sources(self, positions: Sequence[int] | None = None) -> list[RuleSource]:
        """The rules at some positions, or all, as Python objects."""

    def texts(self) -> Texts:
        """The bytes of all texts."""

    def texts_at(self, positions: NDArray[np.int64], prepared: Mapping[int, PreparedRule]) -> Strings:
        """The texts to keep of rules; those of prepared ones as they were prepared."""

    def weights_at(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weights of rules whose text is given."""


class ListedRules:
    """Rules that came one by one."""

    def __init__(self, rules: list[RuleSource]) -> None:
        self._rules = rules

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def nbytes(self) -> int:
        return sum(len(rule.expression) for rule in self._rules if isinstance(rule.expression, str))

    def part(self, start: int, stop: int) -> ListedRules:
        return ListedRules(self._rules[start:stop])

    @property
    def ids(self) -> list[Any]:
        return [rule.id for rule in self._rules]

    def id_at(self, position: int) -> Any:
        return self._rules[position].id

    def ids_at(self, positions: NDArray[np.int64]) -> list[Any]:
        return [self._rules[position].id for position in positions.tolist()]

    def sources(self, positions: Sequence[int] | None = None) -> list[RuleSource]:
        return self._rules if positions is None else [self._rules[position] for position in positions]

    def texts(self) -> Texts:
        texts = [None if _bare_weight(rule.options) is None else _bare_text(rule) for rule in self._rules]
        given = np.fromiter([text is not None for text in texts], np.bool_, len(texts))
        return Texts(encode_many(texts, optional=True), given)

    def texts_at(self, positions: NDArray[np.int64], prepared: Mapping[int, PreparedRule]) -> list[str]:
        rules = self._rules
        return [prepared[at].text if at in prepared else rules[at].expression for at in positions.tolist()]

    def weights_at(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = [_bare_weight(self._rules[position].options) for position in positions.tolist()]
        return np.array(weights, np.float64)


def _bare_weight(options: Any) -> float | None:
    """The constant weight in options that hold nothing else; None for all others, and for what may be refused."""
    if options is None:
        return 0.0
    if type(options) is not dict or not options.keys() <= {"weight"}:
        return None
    weight = options.get("weight")
    if weight is None:
        return 0.0
    return weight + 0.0 if type(weight) is float and 0 <= weight < math.inf else None


def _bare_text(rule: RuleSource) -> str | None:
    """The text of a rule; None for all that is no text."""
    text = rule.expression
    if type(text) is not str or rule.problem is not None:
        return None
    return text if text.isascii() or not has_surrogate(text) else None


class ArrowRules:
    """Rules in Arrow columns, whose texts are strings and sound."""

    def __init__(self, ids: pa.Array, expressions: pa.LargeStringArray, options: Mapping[str, pa.Array]) -> None:
        self.ids, self.expressions, self.options = ids, expressions, options

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return int(self.expressions.nbytes)

    def part(self, start: int, stop: int) -> ArrowRules:
        count = stop - start
        options = {name: column.slice(start, count) for name, column in self.options.items()}
        return ArrowRules(self.ids.slice(start, count), self.expressions.slice(start, count), options)

    def id_at(self, position: int) -> Any:
        return self.ids[position].as_py()

    def ids_at(self, positions: NDArray[np.int64]) -> pa.Array:
        return self.ids if len(positions) == len(self) else self.ids.take(pa.array(positions))

    def sources(self, positions: Sequence[int] | None = None) -> list[RuleSource]:
        columns = [self.ids, self.expressions, *self.options.values()]
        if positions is not None:
            columns = [column.take(pa.array(positions, pa.int64())) for column in columns]
        return list(sources_of([column.to_pylist() for column in columns], list(self.options)))

    def texts(self) -> Texts:
        given = np.ones(len(self), np.bool_)
        if self.expressions.null_count:
            given &= self.expressions.is_valid().to_numpy(zero_copy_only=False)
        for name, column in self.options.items():
            given &= _is_bare(name, column)
        return Texts(encode_many(self.expressions, optional=True), given)

    def texts_at(self, positions: NDArray[np.int64], prepared: Mapping[int, PreparedRule]) -> pa.LargeStringArray:
        texts = self.expressions
        return texts if len(positions) == len(self) else texts.take(pa.array(positions))

    def weights_at(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        column = self.options.get("weight")
        if column is None or column.type != pa.float64():
            return np.zeros(len(positions))
        weights: NDArray[np.float64] = column.fill_null(0.0).to_numpy(zero_copy_only=False)[positions] + 0.0
        return weights


def _is_bare(name: str, column: pa.Array) -> NDArray[np.bool_]:
    """For each rule whether an option of it is a constant weight that nobody refuses, or NULL."""
    bare: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False).copy()
    if name == "weight" and column.type == pa.float64():
        weights = column.fill_null(0.0).to_numpy(zero_copy_only=False)
        bare |= (weights >= 0) & (weights < np.inf)
    return bare


def sources_of(columns: Sequence[Sequence[Any]], options: Sequence[str]) -> Any:
    """Rules from columns of ids, expressions and options; an option that is NULL is not given."""
    for cells in zip(*columns, strict=True):
        given = {name: cell for name, cell in zip(options, cells[2:], strict=True) if cell is not None}
        yield RuleSource(cells[0], cells[1], given or None)

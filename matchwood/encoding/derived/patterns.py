"""Patterns of `like`, `ilike` and `rlike`, many at a time, behind a filter of short byte sequences (grams).

Each pattern that cannot match without a certain text is filed under one gram of that text, up to four
bytes and the least used so far. One walk over a value finds the grams in it, and only those patterns are
tried: `like` by a compiled matcher, `rlike` by RE2, one call a pattern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.encoding.derived import _kernels as kernels
from matchwood.encoding.derived.keys import DerivedTest
from matchwood.encoding.derived.likes import ANY_RUN, read_like
from matchwood.encoding.derived.required_literals import required_literal
from matchwood.encoding.derived.tables import Marks, Pairs, collected
from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.key_columns import frozen
from matchwood.encoding.spaces.keys import arrow_strings

GRAM = 4
LOOKED_AT = 256
"""A pattern's gram is looked for among that many."""


class TextColumn:
    """Texts as Arrow holds them, and as bytes; in lower case when somebody asks for that."""

    def __init__(self, texts: pa.Array) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def cased(self) -> Strings:
        return _frozen(arrow_strings(self.texts))

    @cached_property
    def lower(self) -> Strings:
        return _frozen(arrow_strings(pc.utf8_lower(self.texts)))


class PatternTable:
    """Patterns of one source: those that see its texts as they are, and those that see them in lower case."""

    def __init__(self, attributes: Sequence[int], tests: Sequence[DerivedTest]) -> None:
        self.attributes = np.array(attributes, np.int32)
        self.tests = tests
        lower = [place for place, test in enumerate(tests) if test.op == "ilike"]
        cased = [place for place, test in enumerate(tests) if test.op != "ilike"]
        self._lower = _Grams(self.attributes[lower], [tests[place] for place in lower]) if lower else None
        self._cased = _Grams(self.attributes[cased], [tests[place] for place in cased]) if cased else None

    def satisfied(self, column: TextColumn) -> Pairs:
        found = []
        if self._cased is not None:
            found += [self._cased.satisfied(column.cased, column.texts)]
        if self._lower is not None:
            found += [self._lower.satisfied(column.lower, column.texts)]
        return Pairs(*map(np.concatenate, zip(*found, strict=True)))


class _Grams:
    """Patterns that see one form of the texts."""

    def __init__(self, attributes: NDArray[np.int32], tests: Sequence[DerivedTest]) -> None:
        self._attributes, self._tests = attributes, tests
        self._regexes = np.array([test.op == "rlike" for test in tests], np.bool_)
        programs = [_program(test) for test in tests]
        ends = np.zeros(len(tests) + 1, np.int64)
        np.cumsum([len(program) for program in programs], out=ends[1:])
        self._programs = kernels.LikePrograms(frozen(ends), frozen(np.concatenate(programs)))
        grams = _chosen([required_literal(test).encode() for test in tests])
        filtered = np.flatnonzero(grams)
        unfiltered = frozen(np.flatnonzero(grams == 0).astype(np.int32))
        lengths = (grams[filtered] >> np.uint64(32)).astype(np.int64)
        used = int(np.bitwise_or.reduce(np.left_shift(1, lengths), initial=0))
        size = 1 << max(3, (2 * len(filtered)).bit_length())
        keys, starts = np.zeros(size, np.uint64), np.zeros(size + 1, np.int64)
        places = kernels.build_grams(frozen(grams[filtered]), keys, starts)
        postings = frozen(filtered[places].astype(np.int32))
        self._grams = kernels.GramIndex(frozen(keys), frozen(starts), postings, used, unfiltered)
        self._marks = Marks(tests=len(tests))

    def satisfied(self, strings: Strings, texts: pa.Array) -> Pairs:

        def run(first: int, values: Any, tests: Any) -> tuple[int, int]:
            epoch, marks = self._marks.taken(len(texts))
            return kernels.match_texts(  # type: ignore[no-any-return]
                strings.offsets, strings.data, self._grams, self._programs, marks["tests"], epoch, first, values, tests
            )

        values, tests = collected(len(texts), len(self._tests), run)
        undecided = self._regexes[tests]
        if undecided.any():
            confirmed = self._confirmed(texts, values[undecided], tests[undecided])
            values = np.concatenate((values[~undecided], confirmed[0]))
            tests = np.concatenate((tests[~undecided], confirmed[1]))
        return Pairs(values, self._attributes[tests])

    def _confirmed(self, texts: pa.Array, values: Any, tests: Any) -> tuple[Any, Any]:
        """Those pairs of a text and a regular expression that match."""
        order = np.argsort(tests, kind="stable")
        values, tests = values[order], tests[order]
        keep = np.zeros(len(tests), np.bool_)
        starts = np.flatnonzero(np.diff(tests, prepend=-1))
        for start, stop in zip(starts, np.append(starts[1:], len(tests)), strict=True):
            pattern = self._tests[tests[start]].operand
            verdicts = pc.match_substring_regex(texts.take(pa.array(values[start:stop])), pattern)
            keep[start:stop] = verdicts.to_numpy(zero_copy_only=False)
        return values[keep], tests[keep]


def _frozen(strings: Strings) -> Strings:
    return Strings(frozen(strings.offsets), frozen(strings.data))


def _program(test: DerivedTest) -> NDArray[np.int16]:
    """What the compiled matcher of `like` runs; nothing for a regular expression."""
    if test.op == "rlike":
        return np.empty(0, np.int16)
    codes: list[int] = []
    for part in read_like(test.operand):
        if isinstance(part, str):
            codes.extend(part.encode())
        else:
            codes.append(kernels.ANY_RUN if part == ANY_RUN else kernels.ANY_ONE)
    return np.array(codes, np.int16)


def _chosen(literals: Sequence[bytes]) -> NDArray[np.uint64]:
    """For each text one gram of it, with its length in the bits above 32; 0 for an empty text."""
    used: Counter[bytes] = Counter()
    grams = np.zeros(len(literals), np.uint64)
    for place, literal in enumerate(literals):
        if literal:
            length = min(GRAM, len(literal))
            last = min(len(literal) - length, LOOKED_AT)
            candidates = {literal[start : start + length]: start for start in range(last + 1)}
            gram = min(candidates, key=lambda each: (used[each], candidates[each]))
            used[gram] += 1
            grams[place] = int.from_bytes(gram, "big") | length << 32
    return grams

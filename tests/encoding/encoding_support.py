"""What the tests of the encoding share: evaluation of codes by hand, and a store of codes that follows relabelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from matchwood.encoding import Encoder
from matchwood.encoding.codes import EncodedConjunctions
from matchwood.language import parse
from matchwood.logic import dnf_of


def conjunction_holds(encoded: EncodedConjunctions, conjunction: int, pairs: Mapping[int, int]) -> bool:
    """Whether one conjunction is true of an event given as attribute → label."""
    for place in range(encoded.offsets[conjunction], encoded.offsets[conjunction + 1]):
        label = pairs.get(int(encoded.attributes[place]))
        if label is None:
            if not encoded.accepts_null[place]:
                return False
        elif not any(
            encoded.low[piece] <= label < encoded.high[piece]
            for piece in range(encoded.pieces[place], encoded.pieces[place + 1])
        ):
            return False
    return True


def holds(encoded: EncodedConjunctions, pairs: Mapping[int, int]) -> bool:
    """Whether any of the conjunctions is true."""
    return any(conjunction_holds(encoded, number, pairs) for number in range(encoded.count))


def pairs_of(encoder: Encoder, event: Mapping[str, Any]) -> dict[int, int]:
    """An event as attribute → label."""
    encoded = encoder.encode_event(event)
    assert encoded.attributes.tolist() == sorted(set(encoded.attributes.tolist()))
    return dict(zip(encoded.attributes.tolist(), encoded.labels.tolist(), strict=True))


def relabelled(encoded: EncodedConjunctions, changes: list[tuple[int, Any, Any]]) -> EncodedConjunctions:
    """Stored codes after labels have changed."""
    low, high = encoded.low.copy(), encoded.high.copy()
    owners = np.repeat(encoded.attributes, np.diff(encoded.pieces))
    for attribute, old, new in changes:
        translation = dict(zip(old.tolist(), new.tolist(), strict=True))
        for ends in (low, high):
            for place in np.flatnonzero(owners == attribute).tolist():
                ends[place] = translation.get(int(ends[place]), int(ends[place]))
    return encoded._replace(low=low, high=high)


class Rules:
    """Rules by name, encoded and matched without any engine."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.stored: dict[str, tuple[list[tuple[str, str]], EncodedConjunctions]] = {}

    def add(self, name: str, text: str) -> None:
        expression = parse(text)
        uses = self.encoder.schema.check(expression, name)
        encoded = self.encoder.encode(dnf_of(expression, self.encoder.bind, 256))
        self.encoder.schema.add(uses, name)
        self._follow()
        self.stored[name] = uses, encoded

    def remove(self, name: str) -> None:
        uses, encoded = self.stored.pop(name)
        self.encoder.schema.remove(uses, name)
        self.encoder.release(encoded)
        self._follow()

    def _follow(self) -> None:
        changes = self.encoder.drain_relabelled()
        if changes:
            self.stored = {name: (uses, relabelled(encoded, changes)) for name, (uses, encoded) in self.stored.items()}

    def match(self, event: Mapping[str, Any]) -> list[str]:
        pairs = pairs_of(self.encoder, event)
        return [name for name, (_, encoded) in self.stored.items() if holds(encoded, pairs)]

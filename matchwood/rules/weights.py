"""What rules weigh: one constant a rule, and, where a rule has any, the weights of its values as JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchwood.core import Growable
from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.rules.heap import ByteHeap
from matchwood.rules.strings import Strings, Utf8, encode_many


class WeightColumns:
    """One row a rule. The heap of JSON texts exists only once a rule has one; an empty text is none."""

    def __init__(self) -> None:
        self._constant = Growable(np.float64)
        self._json: ByteHeap | None = None

    def __len__(self) -> int:
        return len(self._constant)

    @property
    def nbytes(self) -> int:
        return self._constant.nbytes + self.nbytes_json

    @property
    def nbytes_json(self) -> int:
        return self._json.nbytes if self._json is not None else 0

    def extend(self, constants: NDArray[np.float64], texts: Utf8 | None) -> None:
        """Add rows; values are checked before, by `constants_of` and `texts_of`."""
        if texts is not None and len(texts.data):
            self._have_json().extend(texts)
        elif self._json is not None:
            self._json.extend_empty(len(constants))
        self._constant.extend(constants)

    def replace_many(self, rows: NDArray[np.int32], constants: NDArray[np.float64], texts: Utf8 | None) -> None:
        """Give distinct rows other weights."""
        self._constant.writable()[rows] = constants
        if texts is not None and len(texts.data):
            self._have_json().replace_many(rows, texts)
        elif self._json is not None:
            self._json.clear(rows)

    def clear(self, rows: NDArray[np.int32]) -> None:
        self.replace_many(rows, np.zeros(len(rows)), None)

    def _have_json(self) -> ByteHeap:
        if self._json is None:
            self._json = ByteHeap(len(self))
        return self._json

    def constants(self) -> NDArray[np.float64]:
        """The constant weight of every row, read-only."""
        return self._constant.view()

    def json(self, row: int) -> str | None:
        """The JSON text of one row's weights."""
        return (self._json.text(row) or None) if self._json is not None else None

    def keep(self, rows: NDArray[Any]) -> None:
        """Drop all other rows; the kept ones are numbered anew."""
        self._constant = Growable(np.float64, self._constant.view()[rows])
        if self._json is not None:
            self._json.keep(rows)

    def arrays(self) -> dict[str, NDArray[Any]]:
        texts = {} if self._json is None else {f"json.{name}": array for name, array in self._json.arrays().items()}
        return {"constant": self._constant.view(), **texts}

    def header(self) -> dict[str, Any]:
        return {"garbage": None if self._json is None else self._json.garbage}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state; arrays may be read-only maps of files."""
        self._constant = Growable(np.float64, arrays["constant"])
        self._json = None
        if header["garbage"] is not None:
            self._json = ByteHeap()
            texts = {name.removeprefix("json."): array for name, array in arrays.items() if "." in name}
            self._json.restore(texts, header["garbage"])

    def check(self) -> None:
        """Raise CorruptSnapshot unless all weights are usable and all texts lie within their bytes."""
        if not _usable(self.constants()).all():
            raise CorruptSnapshot("weights: a constant weight is negative or not finite")
        if self._json is not None:
            self._json.check("weights")
            if len(self._json) != len(self):
                raise CorruptSnapshot(f"weights: {len(self)} constants but {len(self._json)} texts")

    def audit(self) -> list[str]:
        """Every broken invariant in words."""
        return [] if self._json is None else self._json.audit("weights")


def constants_of(weights: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """One finite weight of at least 0 a rule; none given is 0 for all."""
    if weights is None:
        return np.zeros(count)
    try:
        constants = np.asarray(weights, np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise InvalidArgument("a constant weight must be a number of at least 0") from None
    if len(constants) != count:
        raise InvalidArgument(f"{count} rules but {len(constants)} weights")
    wrong = ~_usable(constants)
    if wrong.any():
        position = int(wrong.argmax())
        raise InvalidArgument(
            f"a weight must be finite and at least 0 (got {constants[position]} for the rule at position {position})"
        )
    return constants


def texts_of(weights_json: Strings | None, count: int) -> Utf8 | None:
    """One JSON text or None a rule."""
    if weights_json is None:
        return None
    if isinstance(weights_json, list | tuple) and len(weights_json) == weights_json.count(None) == count:
        return None
    texts = encode_many(weights_json, "weights", optional=True)
    if texts.size != count:
        raise InvalidArgument(f"{count} rules but {texts.size} JSON texts of weights")
    return texts


def _usable(constants: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.isfinite(constants) & (constants >= 0)

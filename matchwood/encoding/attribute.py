"""What events are asked for: each name that live rules test, its type, and what its value becomes.

`Encoder.sources()` lists one `Source` a name. To encode a value that is not NULL, an event encoder

- checks that it is of `source.kind` and writes it as `spaces/base.py` describes (`any` takes everything,
  and its values are never looked at);
- emits, for each target of `source.direct`, the pair (target.number, target.locate(element)),
  or for a column target.locate_many(elements);
- emits, if there is a `source.derived`, the pairs that `source.derived.evaluate(values)` returns.

NULL and missing values emit nothing. `Encoder.version` changes whenever the list does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import BOTTOM_LABEL
from matchwood.encoding.derived.attributes import DerivedSource
from matchwood.encoding.spaces.base import Spaces, Strings
from matchwood.encoding.spaces.decimals import Decimals


class Target(NamedTuple):
    """An attribute number that a source's value itself is encoded to.

    Without `spaces` rules only ask whether the value is NULL, so that all others share one label. Lists
    never have any.
    """

    number: int
    spaces: Spaces | None

    def locate(self, element: Any) -> int:
        """The label of one element."""
        return BOTTOM_LABEL if self.spaces is None else self.spaces.locate(element)

    def locate_many(self, elements: NDArray[Any] | Strings | Decimals, count: int) -> NDArray[np.int32]:
        """The labels of a column of `count` elements, which is not looked at where there are no spaces."""
        if self.spaces is None:
            return np.full(count, BOTTOM_LABEL, np.int32)
        return self.spaces.locate_many(elements)


class Source(NamedTuple):
    """One name that events are asked for.

    `name`     as rules spell it (`language/names.py`): `a.b` is a path, a backquoted name is one key
    `kind`     bool, int, number, double, string, date, timestamp, list<int>, list<string>, or any
    `direct`   the attributes that its value is encoded to: mostly one, none if all tests are derived
    `derived`  its derived attributes, if it has live ones; only for string and lists
    """

    name: str
    kind: str
    direct: tuple[Target, ...]
    derived: DerivedSource | None

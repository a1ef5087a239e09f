"""What happens to events that lack something or hold what does not fit: two words, the same on every way in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from matchwood.errors import InvalidArgument

MISSING = ("null", "error")
ON_ERROR = ("raise", "null", "report")
_ALIASES = {"fail": "raise"}


class Strictness(NamedTuple):
    """How strict a call is.

    `missing`   `null`: an attribute that rules name and an event lacks is NULL; `error`: it is an EventError
    `on_error`  `raise`: a value that does not fit is an EventError; `null`: it counts as missing; `report`: so it does,
                and is told
    `told`      takes row and message of each value that is told
    `counted`   whether values that do not fit are counted: not where another call counts them
    """

    missing: str = "null"
    on_error: str = "raise"
    told: list[tuple[int, str]] | None = None
    counted: bool = True

    @classmethod
    def of(cls, missing: Any, on_error: Any) -> Strictness:
        """The strictness that two arguments mean; `fail` is another word for `raise`."""
        if missing == "null" and on_error == "raise":
            return STRICT
        checked = checked_on_error(on_error)
        if missing not in MISSING:
            raise InvalidArgument(f"missing must be one of {_listed(MISSING)} (got {missing!r:.80})")
        return cls(missing, checked, [] if checked == "report" else None)

    def anew(self) -> Strictness:
        """The same for a call that begins, or begins again: nothing is told yet."""
        if self.told is not None:
            self.told.clear()
        return self


def checked_on_error(on_error: Any) -> str:
    """One of the three words."""
    meant = _ALIASES.get(on_error, on_error) if isinstance(on_error, str) else on_error
    if meant not in ON_ERROR:
        raise InvalidArgument(f"on_error must be one of {_listed(ON_ERROR)} (got {on_error!r:.80})")
    return str(meant)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(map(repr, words))


STRICT = Strictness()
QUIET = Strictness("null", "null", counted=False)
"""For events that somebody else has looked at."""


class Complaint(str):
    """A message about a value, and the attribute that it does not fit."""

    attribute: str

    def __new__(cls, message: str, attribute: str) -> Complaint:
        made = super().__new__(cls, message)
        made.attribute = attribute
        return made


class MisfitCounter:
    """How many values did not fit, by attribute, over all calls of all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, counts: Mapping[str, int]) -> None:
        with self._lock:
            for name, count in counts.items():
                self._counts[name] = self._counts.get(name, 0) + count

    def as_dict(self) -> dict[str, int]:
        with self._lock:
            return dict(self._counts)

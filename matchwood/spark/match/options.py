"""The options of `match`, checked in one place before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from matchwood.encoding import Strictness, near_misses
from matchwood.errors import InvalidArgument
from matchwood.matching import checked_rank
from matchwood.ranking import WEIGHT, checked_role

OUTPUTS = {"rows": "rule", "array": "rules", "count": "rule_count"}
"""The column that each output adds."""

RANKED = ("rank", "rule", "score")
"""What is told of each rule with `top`: columns of rows, fields in arrays."""

STRATEGIES = ("auto", "broadcast", "sharded", "partitioned")
ERROR_COLUMN = "match_error"


@dataclass(frozen=True)
class MatchOptions:
    """How to match, and what to return; `match` documents each."""

    output: str = "rows"
    keep: Sequence[str] | None = None
    top: int | None = None
    weights: Any = None
    strategy: str = "auto"
    version: int | None = None
    key: str | None = None
    event: str | None = None
    on_error: str = "raise"
    missing: str = "null"
    prefix: str = ""
    metrics: Any = None
    weight: str = WEIGHT[0]

    def __post_init__(self) -> None:
        _check_choice("output", self.output, tuple(OUTPUTS))
        _check_choice("strategy", self.strategy, STRATEGIES)
        object.__setattr__(self, "on_error", Strictness.of(self.missing, self.on_error).on_error)
        _check_ranking(self.top, self.weights, self.weight)
        if isinstance(self.keep, str) or not all(isinstance(name, str) for name in self.keep or ()):
            raise InvalidArgument(f"keep must be a list of column names (got {self.keep!r:.80})")
        for name in ("key", "event"):
            if not isinstance(getattr(self, name), str | None):
                raise InvalidArgument(f"{name} must be the name of a column (got {getattr(self, name)!r:.80})")
        if not isinstance(self.prefix, str):
            raise InvalidArgument(f"prefix must be text (got {self.prefix!r:.80})")
        if self.metrics is not None and not (isinstance(self.metrics, str) or hasattr(type(self.metrics), "get")):
            raise InvalidArgument(f"metrics must be a name or a pyspark.sql.Observation (got {self.metrics!r:.80})")

    @classmethod
    def from_names(cls, given: Mapping[str, Any], others: Sequence[str] = ()) -> MatchOptions:
        """Options by name; `others` are what the caller takes besides, for the message about an unknown one."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(given.keys() - known)
        if unknown:
            raise InvalidArgument(f"there is no option {unknown[0]!r} (there are: {', '.join([*others, *known])})")
        return cls(**given)

    @property
    def added(self) -> list[str]:
        """The names of the columns that matching adds."""
        report = [ERROR_COLUMN] if self.on_error == "report" else []
        found = RANKED if self.top is not None and self.output == "rows" else (OUTPUTS[self.output],)
        return [self.prefix + name for name in (*found, *report)]


def _check_choice(name: str, given: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(given, str) or given not in choices:
        raise InvalidArgument(f"{name} must be one of {', '.join(map(repr, choices))} (got {given!r:.80})")


def _check_ranking(top: Any, weights: Any, weight: Any) -> None:
    if top is not None:
        checked_rank(top, "top")
    if checked_role(weight, weights) == "only" and top is None:
        raise InvalidArgument("weight= is for ranking: give top= as well, the number of rules that an event gets")
    if weights is None:
        return
    if top is None:
        raise InvalidArgument("weights= are for ranking: give top= as well, the number of rules that an event gets")
    if not isinstance(weights, str | Mapping):
        wanted = "a mapping from attributes to numbers, or the name of a column that holds such maps or structs"
        raise InvalidArgument(f"weights must be {wanted} (got {weights!r:.80})")


def position_of(names: Sequence[str], name: str, what: str) -> int:
    """Where a column stands, by its exact name."""
    found = [position for position, known in enumerate(names) if known == name]
    if len(found) == 1:
        return found[0]
    near = "".join(f", but {other!r}" for other in near_misses(name, names)[:1])
    raise InvalidArgument(
        f"{what}: there are {len(found)} columns called {name!r}; give the others another name"
        if found
        else f"{what}: there is no column {name!r}{near} (case matters)"
    )

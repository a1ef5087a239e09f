"""What a build or an update did, in numbers and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from matchwood.errors import counted

SHOWN = 5
"""Attributes that a sentence names."""


@dataclass(frozen=True)
class BuildReport:
    """The number of `rules` in version `version`, of `shards`, of their `bytes`, and of `rejected` rules.

    `misfits`  how many rules were rejected because they do not fit the type of an attribute, by attribute
    """

    rules: int
    rejected: int
    shards: int
    bytes: int
    version: int
    seconds: float
    misfits: Mapping[str, int] = field(default_factory=dict, kw_only=True)

    def __str__(self) -> str:
        held = f"{counted(self.rules, 'rule')}, {self.rejected:,} rejected{self._reasons()}"
        shards = f"{counted(self.shards, 'shard')} of {self.bytes / 2**20:,.1f} MiB"
        return f"version {self.version}: {held}; {shards}; {self.seconds:.1f} s"

    def _reasons(self) -> str:
        told = [f"{count:,} for the type of {name!r}" for name, count in self.misfits.items()]
        return f" ({', '.join(told[:SHOWN])}{', …' if len(told) > SHOWN else ''})" if told else ""


@dataclass(frozen=True)
class UpdateReport(BuildReport):
    """Also how many rules were `inserted`, `replaced`, `deleted`, and whether all shards were rebuilt.

    `problem`  why rebuilding failed, if it was due; the changes are published anyway
    """

    inserted: int = 0
    replaced: int = 0
    deleted: int = 0
    compacted: bool = False
    problem: str | None = None

    def __str__(self) -> str:
        changes = f"{self.inserted:,} inserted, {self.replaced:,} replaced, {self.deleted:,} deleted"
        anew = ", compacted" if self.compacted else f", not compacted: {self.problem}" if self.problem else ""
        return f"{super().__str__()} ({changes}{anew})"

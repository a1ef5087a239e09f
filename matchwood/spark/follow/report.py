"""What following a table did: a step for each version that was published."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FollowStep:
    """Version `version` of the index stands for version `table_version` of the table.

    `how`      `feed` (changes from the table's feed), `compare` (two versions of the table were compared), `build`
    `reason`   why it was compared, or built anew; None for what is usual
    `rules`    how many rules the version has; so many were `inserted`, `replaced`, `deleted`, `rejected`
    """

    version: int
    table_version: int | None
    how: str
    reason: str | None
    rules: int
    inserted: int
    replaced: int
    deleted: int
    rejected: int
    seconds: float

    @property
    def changed(self) -> int:
        """How many rules are not what they were before."""
        return self.inserted + self.replaced + self.deleted

    def __str__(self) -> str:
        counts = f"{self.inserted:,} inserted, {self.replaced:,} replaced, {self.deleted:,} deleted"
        why = f" ({self.how}: {self.reason})" if self.reason else f" ({self.how})"
        told = f"version {self.version} = table version {self.table_version}: {self.rules:,} rules, {counts}"
        return f"{told}, {self.rejected:,} rejected; {self.seconds:.1f} s{why}"

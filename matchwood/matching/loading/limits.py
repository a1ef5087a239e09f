"""How many rules of a batch may be refused before nothing of it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from matchwood.errors import InvalidArgument, LimitExceeded, counted
from matchwood.matching.loading.report import in_words

if TYPE_CHECKING:
    from matchwood.matching.loading.report import Report

SHARE, FEW = 0.1, 10
"""The limit where none is given: a tenth of the rules, and in a small batch ten of them all the same."""


class RejectLimit(NamedTuple):
    """A number of rules, or a share of them; `few` may always be refused.

    >>> RejectLimit.of(None).allows(10, 12), RejectLimit.of(0.1).allows(10, 12), RejectLimit.of(3).allows(3, 3)
    (True, False, True)
    """

    number: int | None
    share: float
    few: int = 0

    @classmethod
    def of(cls, max_rejected: Any) -> RejectLimit:
        """The limit that an argument means: an integer is a number of rules, a float from 0 to 1 a share."""
        if max_rejected is None:
            return cls(None, SHARE, FEW)
        if isinstance(max_rejected, int | np.integer) and not isinstance(max_rejected, bool) and max_rejected >= 0:
            return cls(int(max_rejected), 1.0)
        if isinstance(max_rejected, float | np.floating) and 0 <= max_rejected <= 1:
            return cls(None, float(max_rejected))
        raise InvalidArgument(
            "max_rejected must be a number of rules (an integer), or a share of them (a float from 0.0 to 1.0) "
            f"(got {max_rejected!r:.80})"
        )

    def allows(self, rejected: int, total: int) -> bool:
        """Whether so many of all rules may be refused."""
        return rejected <= (self.share * total if self.number is None else self.number) or rejected <= self.few

    def check(self, report: Report, done: str = "inserted") -> None:
        """LimitExceeded if a batch had too many bad rules; `done` says what is not done then."""
        rejected = len(report._rejects)
        total = report.inserted + report.replaced + rejected
        if not self.allows(rejected, total):
            raise self.exceeded(rejected, total, in_words(report.first_rejected()), done)

    def exceeded(self, rejected: int, total: int, examples: Sequence[str], done: str) -> LimitExceeded:
        """The error for so many bad rules, of which the first few are shown."""
        allowed = f"a share of {self.share:g}" if self.number is None else f"{self.number:,}"
        were = f"{rejected:,} of {counted(total, 'rule')} {'was' if rejected == 1 else 'were'}"
        how = f"nothing was {done}: {were} rejected, and max_rejected allows {allowed}"
        more = f"\n  and {rejected - len(examples):,} more" if rejected > len(examples) else ""
        shown = "".join(f"\n  {example}" for example in examples)
        return LimitExceeded(
            f"{how}{shown}{more}\nfix them, or raise the limit so that the others are {done}: "
            f"max_rejected={rejected} allows this many, max_rejected=1.0 any number"
        )


USUAL = RejectLimit.of(None)
"""Where none is given."""

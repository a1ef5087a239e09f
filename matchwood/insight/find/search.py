"""The case split of `logic`, with an effort that suits one question of a user, and an error where that ends."""

from __future__ import annotations

from matchwood.errors import LimitExceeded
from matchwood.logic import Conjunction, Form, can_hold

EFFORT = 2_000_000
"""Node visits of one case split: about a second."""


def surely_can_hold(form: Form, within: Conjunction) -> bool:
    """Whether some event of a conjunction satisfies a form."""
    found = can_hold(form, within, EFFORT)
    if found is None:
        raise LimitExceeded(f"it takes more than {EFFORT:,} steps to find out whether it has a counterexample")
    return found

"""What ranking hands to engines: the programs that score rules, the weights of events, and the best rules of each.

A *program* is the tree of a rule as it was written, in postorder, for a small stack machine. A word of code holds an
operation in its lowest OP_BITS bits and an operand above them:

    END                       the score is what is on the stack (0 if nothing is) plus the rule's constant weight
    ONE    name               a predicate known to be TRUE, of weight 1: push the event's weight of that attribute
    SUM    count, name, …     an AND of nothing but such, `count` of them, in one operation: most rules are one
    SURE   name, weight       a predicate known to be TRUE: push weights[weight] x the event's weight
    TEST   name, weight, attribute, count, low, high, low, high …
                              push the same if the event's label of `attribute` lies in one of the `count` intervals
                              [low, high), which are disjoint; otherwise push NOT_TRUE. [-1, 0) is NULL.
    AND    count              the sum of the last `count` values, from left to right; NOT_TRUE if one of them is
    OR     count              the greatest of the last `count` values
    TRUE, FALSE               push 0, NOT_TRUE
    KEEP   slot               keep what is on top of the stack, which stays there; LOAD pushes it again
    LOAD   slot

Scores are never negative, so NOT_TRUE is: OR then is a maximum and nothing else. A predicate is *known to be TRUE* if
it stands below ANDs alone, since only rules that match are scored.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import EncodedEvents

if TYPE_CHECKING:
    from matchwood.engines.base import Hits, Work
    from matchwood.engines.shared.workspace import Workspace

OP_BITS = 4
END, ONE, SUM, SURE, TEST, AND, OR, TRUE, FALSE, KEEP, LOAD = range(11)

AHEAD = 256
"""Rules scored in one call at most: their programs, some 16 KB, are read first, and stay in the cache."""

NOT_TRUE = -1.0
"""What a part of a rule scores that is not TRUE; the score of a whole rule is 0 or more."""


DEAD = -1.0
"""In the place of the constant weight of a rule that counts for nothing: an engine that ranks passes it over."""


class Programs(NamedTuple):
    """The programs of all rules that have one, as kernels read them.

    `starts`     by row: where its program begins in `code`, -1 if there is none
    `code`       words, as described above
    `weights`    the weights that words refer to
    `constants`  by row: the weight that is added to the rule's score, or DEAD
    """

    starts: NDArray[np.int64]
    code: NDArray[np.int32]
    weights: NDArray[np.float64]
    constants: NDArray[np.float64]


class EventWeights(NamedTuple):
    """What events weigh, by the programs' numbers of attribute names.

    `shared`   the weight of each name for all events; 1 where nothing was given; and a last one, of names that
               nothing scores, which is 0
    `offsets`  event e of the batch has the weights values[offsets[e] : offsets[e + 1]] of its own, of names[…];
               empty if no event has any
    """

    shared: NDArray[np.float64]
    offsets: NDArray[np.int64]
    names: NDArray[np.int32]
    values: NDArray[np.float64]


class ScoreScratch(NamedTuple):
    """What `score` writes to, for one thread. `labels` is NULL_LABEL and `weights` is `shared` between two events.

    `labels`   by attribute of the scoring codes: the label of the event that is scored
    `weights`  by name: its weight of that event
    `scores`   what `score_rows` found
    """

    labels: NDArray[np.int32]
    weights: NDArray[np.float64]
    stack: NDArray[np.float64]
    slots: NDArray[np.float64]
    row: NDArray[np.int32]
    scores: NDArray[np.float64]


class ScoringContext(NamedTuple):
    """All that a kernel needs to score rules of some events; holds while `TopQuery.scoring_context` is open.

    `programs`  those of the rows asked for
    `events`    the same events as those to be matched, in codes of their own: programs test these
    `weights`   theirs
    `scratch`   the calling thread's
    `names`     by attribute of the codes that are matched: the number of its name, whose weight is scratch.weights[…];
                empty where only some rows were asked for
    `heads`, `chain`  from units to rows, as `rules/links.py` describes
    """

    programs: Programs
    events: EncodedEvents
    weights: EventWeights
    scratch: ScoreScratch
    names: NDArray[np.int32]
    heads: NDArray[np.int32]
    chain: NDArray[np.int32]


class Ranked(NamedTuple):
    """The best rules of the events first : first + count: rows[offsets[i] : offsets[i + 1]], best first, ties by row.

    `scored`  how many rules were scored to find them
    """

    first: int
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    scores: NDArray[np.float64]
    work: Work
    scored: int

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.offsets) - 1

    def owned(self) -> Ranked:
        """The same in arrays of their own, as they are from the start."""
        return self


class TopQuery(Protocol):
    """One call of `top`: how many rules are wanted, and how to score them."""

    @property
    def n(self) -> int:
        """How many rules an event gets at most."""

    def rank_hits(self, hits: Hits, workspace: Workspace) -> Ranked:
        """The best of the rules that these units belong to, all of them scored."""

    def scoring_context(
        self, workspace: Workspace, rows: NDArray[np.int32] | None = None
    ) -> AbstractContextManager[ScoringContext]:
        """What scoring reads, for an engine that decides by itself what to score: of these rows, or of all rules."""

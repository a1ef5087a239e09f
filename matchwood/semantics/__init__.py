"""The oracle: what a rule means, in plain Python over the parsed tree. It shares nothing with what it judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.semantics.evaluation import evaluate, evaluate_predicate
    from matchwood.semantics.reading import ReadEvent
    from matchwood.semantics.scores import score
    from matchwood.semantics.values import look_up

__all__ = ["ReadEvent", "evaluate", "evaluate_predicate", "look_up", "score"]

__getattr__ = exports(__name__)

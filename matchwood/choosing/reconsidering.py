"""When matching looked at too much for what it found: rules laid out anew, or other engines tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.choosing.auto import AutoMatcher
from matchwood.choosing.trials import begin_trial
from matchwood.core import little_work
from matchwood.matching import is_little

if TYPE_CHECKING:
    from matchwood.index import Index


def reconsider_if_due(index: Index) -> None:
    """Lay the rules out anew if matching looked at too much; not while somebody changes them: a later call will."""
    if not index._matcher.reconsider_due or index._read_only or index._rehearses or index._lock.is_reading():
        return
    if isinstance(index._matcher, AutoMatcher):
        begin_trial(index, index._matcher)
    elif index._writer.acquire(blocking=False):
        try:
            index._check()
            with index._storing(), little_work(is_little(index)):
                if index._matcher.reconsider_due:
                    index._matcher.reconsider()
        finally:
            index._writer.release()

"""A difference as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from matchwood.commands.diffs.difference import Difference
from matchwood.commands.diffs.hit_changes import HitChange
from matchwood.commands.diffs.rule_changes import CHANGED, RuleChange
from matchwood.errors import counted

SHOWN = 20


def told(difference: Difference) -> str:
    """The totals, then the rules that change most."""
    lines = [f"{difference.old} → {difference.new}", summary(difference)]
    if difference.hits is not None:
        lines.append(hits_summary(difference))
    changes = difference.by_effect()
    for change in changes[:SHOWN]:
        lines += ["", *_told(difference, change)]
    if len(changes) > SHOWN:
        lines += ["", f"and {counted(len(changes) - SHOWN, 'more rule')} that differ (--html or --output shows all)"]
    return "\n".join(lines)


def summary(difference: Difference) -> str:
    """How many rules differ, in which way."""
    kinds = [f"{count:,} {kind}" for kind, count in difference.kinds().items() if count]
    return f"rules: {', '.join([*kinds, f'{difference.same:,} the same'])}"


def hits_summary(difference: Difference) -> str:
    """How many hits that makes."""
    assert difference.hits is not None
    gained, lost = difference.total("gained"), difference.total("lost")
    return f"{counted(difference.hits.events, 'event')}: {counted(gained, 'hit')} gained, {lost:,} lost"


def _told(difference: Difference, change: RuleChange) -> Iterator[str]:
    found = difference.hit_change(change)
    yield f"{change.kind} {change.rule}{f': {counts_text(found)}' if found else ''}"
    if change.old != change.new:
        yield from (f"  {sign} {text}" for sign, text in (("-", change.old), ("+", change.new)) if text is not None)
    else:
        yield f"    {change.new}"
    for word, reasons in (("gained", difference.gained(change)), ("lost", difference.lost(change))):
        for reason in reasons if change.kind == CHANGED or change.old == change.new else ():
            yield f"  {word} event {reason.key}: {reason.text}"


def counts_text(found: HitChange) -> str:
    """Hits of one rule before and after.

    >>> counts_text(HitChange())
    '0 hits before, 0 after; 0 gained, 0 lost'
    """
    return f"{counted(found.before, 'hit')} before, {found.after:,} after; {found.gained:,} gained, {found.lost:,} lost"

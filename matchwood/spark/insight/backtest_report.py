"""A page about a backtest: hits before and after by rule, samples, and why."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchwood.errors import EventError, counted
from matchwood.insight import explain_text
from matchwood.sharding import ShardSet

EXPLAINED = 200
"""Rules whose sample is explained on the page; of the others there are counts and texts."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } th, td { padding: .3rem .6rem; text-align: left }
th { border-bottom: 2px solid #888 } td { border-bottom: 1px solid #ddd } td.n, th.n { text-align: right }
code { white-space: pre-wrap; overflow-wrap: anywhere } .gained { color: #06693a } .lost { color: #a3201c }
details { margin: .8rem 0 } summary { cursor: pointer; font-weight: 600 }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } td { border-color: #444 }
.gained { color: #6ad19b } .lost { color: #ff8a80 } }
"""


@dataclass(frozen=True)
class Sampled:
    """An event of the sample: its key, whether the rule gains it, and which predicates decide, before and after."""

    key: Any
    gained: bool
    before: str
    after: str


@dataclass(frozen=True)
class Judged:
    """One change: its rule, the counts, the texts, the sample."""

    rule: Any
    before: int
    after: int
    gained: int
    lost: int
    old: str | None
    new: str | None
    sample: tuple[Sampled, ...]

    @classmethod
    def of(
        cls,
        row: tuple[Any, ...],
        before: Mapping[Any, str],
        after: Mapping[Any, str],
        events: Mapping[Any, Mapping[str, Any]],
        base: ShardSet,
    ) -> Judged:
        rule, was, now, gained, lost, keys = row
        old, new = before.get(rule), after.get(rule)
        sample = [_sampled(key, events[key], (old, new), base) for key in keys if key in events]
        return cls(rule, was, now, gained, lost, old, new, tuple(sample))


def _sampled(key: Any, event: Mapping[str, Any], texts: tuple[str | None, ...], base: ShardSet) -> Sampled:
    (_, old), (verdict, new) = (_why(text, event, base) for text in texts)
    return Sampled(key, verdict is True, old, new)


def _why(text: str | None, event: Mapping[str, Any], base: ShardSet) -> tuple[bool | None, str]:
    if text is None:
        return None, "no rule"
    try:
        found = explain_text(text, event, base.types(), base.timezone, base.event_settings)
    except EventError as error:
        return None, str(error)
    verdict = {True: "TRUE", False: "FALSE", None: "NULL"}[found.verdict]
    return found.verdict, f"{verdict}: {'; '.join(found.decided_by)}"


def write_report(path: str | os.PathLike[str], changes: Iterable[Judged]) -> None:
    """Write the page."""
    Path(path).write_text(page(list(changes)), encoding="utf-8")


def page(changes: list[Judged]) -> str:
    """The page as HTML, without anything that it would have to load."""
    ordered = sorted(changes, key=lambda change: -(change.gained + change.lost))
    moved = [change for change in ordered if change.gained or change.lost]
    total = f"{counted(len(changes), 'change')}, {len(moved):,} with an effect on these events"
    hits = f"{sum(each.gained for each in changes):,} hits gained, {sum(each.lost for each in changes):,} lost"
    rows = "".join(map(_row, ordered))
    heads = "".join(f'<th class="n">{name}</th>' for name in ("before", "after", "gained", "lost"))
    details = "".join(map(_details, moved[:EXPLAINED]))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Backtest</title><style>{_STYLE}</style>'
        f"<h1>Backtest</h1><p>{total}: {hits}.</p><table><tr><th>rule</th>{heads}</tr>{rows}</table>"
        f"<h2>Why</h2>{details or '<p>No event is answered otherwise.</p>'}</html>\n"
    )


def _row(change: Judged) -> str:
    gained, lost = _number(change.gained, "gained"), _number(change.lost, "lost")
    return f"<tr><td>{_text(change.rule)}</td>{_number(change.before)}{_number(change.after)}{gained}{lost}</tr>"


def _number(count: int, kind: str = "") -> str:
    return f'<td class="n {kind if count else ""}">{count:,}</td>'


def _details(change: Judged) -> str:
    texts = "".join(
        f"<p>{when}: {'<em>no rule</em>' if text is None else f'<code>{_text(text)}</code>'}</p>"
        for when, text in (("before", change.old), ("after", change.new))
    )
    rows = "".join(_event(each) for each in change.sample)
    table = f"<table><tr><th>event</th><th></th><th>before</th><th>after</th></tr>{rows}</table>" if rows else ""
    return f"<details open><summary>{_text(change.rule)}</summary>{texts}{table}</details>"


def _event(sampled: Sampled) -> str:
    kind = "gained" if sampled.gained else "lost"
    why = f"<td><code>{_text(sampled.before)}</code></td><td><code>{_text(sampled.after)}</code></td>"
    return f'<tr><td>{_text(sampled.key)}</td><td class="{kind}">{kind}</td>{why}</tr>'


def _text(value: Any) -> str:
    return html.escape(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))

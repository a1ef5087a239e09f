"""A difference as one page of HTML that needs nothing else: no script, no file beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from matchwood.commands.diffs.difference import Difference, Reason
from matchwood.commands.diffs.rule_changes import KINDS, RuleChange
from matchwood.commands.diffs.telling import counts_text, hits_summary, summary

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --gain: #1a7f37; --loss: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --gain: #3fb950; --loss: #f85149; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 0; display: inline; overflow-wrap: anywhere; }
code, pre { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; margin: .3rem 0; }
section { border-top: 1px solid var(--line); padding: .8rem 0; }
.kind { border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .6rem; margin-right: .5rem;
  font-size: 12px; }
.gain { color: var(--gain); } .loss { color: var(--loss); }
.bar { display: flex; height: .5rem; margin: .4rem 0; background: #8882; border-radius: .25rem; overflow: hidden; }
.bar i { display: block; } .bar .gain { background: var(--gain); } .bar .loss { background: var(--loss); }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .2rem .6rem .2rem 0;
  vertical-align: top; border-top: 1px solid var(--line); } .scroll { overflow-x: auto; }
"""


def page_text(difference: Difference) -> str:
    """The whole page: totals, then every rule that differs, most changed hits first."""
    largest = max((_effect(difference, change) for change in difference.changes), default=0)
    rules = "\n".join(_rule(difference, change, largest) for change in difference.by_effect())
    hits = f"<p>{escape(hits_summary(difference))}</p>" if difference.hits is not None else ""
    title = escape(f"{difference.old} → {difference.new}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{title}</h1>\n<p>{escape(summary(difference))}</p>\n{hits}\n{rules}\n</body></html>\n"
    )


def _effect(difference: Difference, change: RuleChange) -> int:
    found = difference.hit_change(change)
    return found.gained + found.lost if found else 0


def _rule(difference: Difference, change: RuleChange, largest: int) -> str:
    found = difference.hit_change(change)
    kind = f'<span class="kind" title="{escape(KINDS[change.kind])}">{change.kind}</span>'
    parts = [f"{kind}<h2>{_text(change.rule)}</h2>"]
    if found is not None:
        parts.append(f"<div>{escape(counts_text(found))}</div>{_bar(found.gained, found.lost, largest)}")
    parts.append(_texts(change))
    parts.append(_samples("gain", "Gained", difference.gained(change)))
    parts.append(_samples("loss", "Lost", difference.lost(change)))
    return f"<section>{''.join(parts)}</section>"


def _bar(gained: int, lost: int, largest: int) -> str:
    """Lengths are linear; the longest bar is that of the rule with most changes."""
    shares = {"gain": gained / max(largest, 1), "loss": lost / max(largest, 1)}
    pieces = "".join(f'<i class="{kind}" style="width:{share:.2%}"></i>' for kind, share in shares.items())
    return f'<div class="bar">{pieces}</div>'


def _texts(change: RuleChange) -> str:
    if change.old == change.new:
        return f"<pre>  {_text(change.new)}</pre>"
    signed = (("loss", "-", change.old), ("gain", "+", change.new))
    return "".join(f'<pre class="{kind}">{sign} {_text(text)}</pre>' for kind, sign, text in signed if text is not None)


def _samples(kind: str, title: str, reasons: Iterable[Reason]) -> str:
    rows = "".join(
        f"<tr><td>{_text(reason.key)}</td><td>{_text(reason.text)}</td>"
        f"<td><code>{_text(json.dumps(reason.event, ensure_ascii=False, default=str))}</code></td></tr>"
        for reason in reasons
    )
    if not rows:
        return ""
    head = f'<tr><th class="{kind}">{title}, event</th><th>because</th><th>the event</th></tr>'
    return f'<div class="scroll"><table>{head}{rows}</table></div>'


def _text(value: Any) -> str:
    return escape(str(value))

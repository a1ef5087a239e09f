"""What the command line knows before it loads a command: all of them by name, and calls that are wrong."""

from __future__ import annotations

from matchwood.errors import InvalidArgument

HELP = {
    "demo": "run the main job on generated rules and events, and draw the results",
    "check": "parse and type-check a file of rules, and lint it",
    "build": "build an index from a file of rules and save it",
    "test": "test whether rules do what cases expect",
    "diff": "compare two sets of rules, and what they do to events",
    "match": "find the rules that are true for each event of a file",
    "explain": "show why a rule is true, false or unknown for an event",
    "find": "find rules that overlap with an expression, contain it, imply it …",
    "stats": "show what a saved index holds",
    "versions": "list the versions of a saved index",
    "rollback": "publish a new version equal to an old one",
    "vacuum": "remove old versions",
    "draw": "draw the A-Tree or BE-Tree of a few rules, or a triangle of HEM",
    "generate": "make rules and events with the papers' generators",
    "warmup": "compile the kernels of engines before their first use",
    "bench": "run experiments that check their own answers",
    "spark": "build, update, follow, match and verify on Spark",
}
"""The commands and what `matchwood --help` says of them."""


class WrongCall(InvalidArgument):
    """Arguments that do not go together; the exit status is 2, as for any wrong call."""

"""What the command line knows before it loads a command: all of them by name, and calls that are wrong."""

from __future__ import annotations

from matchwood.errors import InvalidArgument

HELP = {
    "demo": "the main job on generated rules and events, with results to look at",
    "check": "parse and type-check a file of rules, and lint it",
    "build": "build an index from a file of rules and save it",
    "test": "whether rules do what cases expect of them",
    "diff": "what another set of rules changes, for rules and for events",
    "match": "the rules that are true of each event of a file",
    "explain": "why a rule is true, false or unknown for an event",
    "find": "the rules that an expression meets, contains, implies …",
    "stats": "what a saved index holds",
    "versions": "the versions of a saved index",
    "rollback": "publish a new version equal to an old one",
    "vacuum": "remove old versions",
    "draw": "draw the A-Tree or BE-Tree of a few rules, or a triangle of HEM",
    "generate": "rules and events of the papers' generators",
    "warmup": "compile the kernels of engines ahead of their first use",
    "bench": "run experiments that check their own answers",
    "spark": "build, update, follow, match and verify on Spark",
}
"""The commands and what `matchwood --help` says of them."""


class WrongCall(InvalidArgument):
    """Arguments that do not go together; the exit status is 2, as for any wrong call."""

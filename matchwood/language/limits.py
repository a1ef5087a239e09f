"""The stated limits of the language: input beyond them is refused whole, by a `LimitExceeded`."""

from __future__ import annotations

MAX_TEXT = 4 * 2**20
"""Characters of a rule's text: each can become a node of some 150 bytes, so a rule stays below a gigabyte."""

MAX_JSON_TEXT = 16 * 2**20
"""Characters of a rule's JSON text, which says the same thing at some four times the length."""

MAX_PRINTED = 6 * MAX_TEXT
"""Characters that `str()` of an expression may have; reached only by sub-expressions shared in Python, since
what a text says takes at most some four times its length (`1e15` is printed as 1000000000000000.0)."""

MAX_DEPTH = 20_000
"""Levels of nesting: parentheses and `not` in a text, operators above a predicate in a tree."""

MAX_NODES = 2**20
"""Nodes of one expression read from JSON, or written to it; reached only when Python objects are shared: a text has
five characters for each predicate (`a or `)."""

MAX_DIGITS = 4_000
"""Digits of a number: reading n digits takes n² steps, and Python itself refuses 4,300."""

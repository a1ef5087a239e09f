"""`docs/walk.md` shows the way that rules and events take through the code today."""

from __future__ import annotations

from tests.walk import PAGE, page, traced, walks


def test_the_page_is_what_the_tracer_sees() -> None:
    assert PAGE.read_text() == page(walks()), "the walk has changed: look at it, then run `python -m tests.walk`"


def test_the_tracer_counts_files_and_rooms() -> None:
    from matchwood import parse

    walk = traced("parsing", lambda: parse("a = 1 and b = 2"))
    assert walk.files[0] == "language/parser.py"
    assert all(name.startswith("language/") for name in walk.files)
    assert walk.changes == 0

"""Every rewrite on text: `rule; expected;`, compared as text and by truth table, NULL included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from logic_support import bind, events_for, form_text, rows_text, verdict

from matchwood.language import parse
from matchwood.logic import cnf, dnf, normalise

FIXTURES = Path(__file__).parent / "fixtures"

REWRITES: dict[str, Callable[[str], str]] = {
    "normal_form": lambda rule: form_text(normalise(parse(rule), bind)),
    "simplify": lambda rule: form_text(normalise(parse(rule), bind)),
    "dnf": lambda rule: rows_text(dnf(normalise(parse(rule), bind), 256)),
    "cnf": lambda rule: rows_text(cnf(normalise(parse(rule), bind), 256), "and"),
}


def pairs(text: str, least: int) -> list[tuple[str, str]]:
    """The `rule; expected;` entries of a file; lines that begin with # are comments."""
    entries = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        rule, expected, rest = [part.strip() for part in line.split(";")]
        if not rule or not expected or rest:
            raise ValueError(f"not a pair: {line!r}")
        entries.append((rule, expected))
    if len(entries) < least:
        raise ValueError(f"only {len(entries)} entries")
    return entries


CASES = [
    pytest.param(name, rule, expected, id=f"{name}: {rule}")
    for name in REWRITES
    for rule, expected in pairs((FIXTURES / f"{name}.txt").read_text(), least=10)
]


@pytest.mark.parametrize(("name", "rule", "expected"), CASES)
def test_a_rewrite_gives_the_text_expected(name: str, rule: str, expected: str) -> None:
    assert REWRITES[name](rule) == expected


@pytest.mark.parametrize(("name", "rule", "expected"), CASES)
def test_what_is_expected_is_true_for_the_same_events(name: str, rule: str, expected: str) -> None:
    written, rewritten = parse(rule), parse(expected)
    for event in events_for(written, rewritten):
        assert (verdict(written, event) is True) == (verdict(rewritten, event) is True), event


def test_every_fixture_file_is_read() -> None:
    assert sorted(path.stem for path in FIXTURES.iterdir()) == sorted(REWRITES)


@pytest.mark.parametrize("text", ["x = 1; x = 1", "x = 1;", "x = 1; ;", "x = 1; x = 1; x = 1;", "# nothing"])
def test_the_loader_refuses_unpaired_entries_and_too_few(text: str) -> None:
    with pytest.raises(ValueError, match=r"pair|entries|unpack"):
        pairs(text, least=1)

"""One case: an event and what is expected of it, as a row of a file says it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.encoding import near_misses
from matchwood.errors import MatchwoodError

NAME, EVENT, MATCH, INCLUDE, EXCLUDE = "case", "event", "match", "include", "exclude"
EXPECTATIONS = (MATCH, INCLUDE, EXCLUDE)
KEYS = (NAME, EVENT, *EXPECTATIONS)
FORM = "event: {age: 20}, match: [ids], or include: and exclude: with some of them"


class WrongCase(MatchwoodError):
    """A case that cannot be judged; the message says why, and what to write."""


class Expected(NamedTuple):
    """Ids as they were written: exactly these rules, or at least these and none of those."""

    match: list[Any] | None
    include: list[Any]
    exclude: list[Any]

    def ids(self) -> list[Any]:
        return [*(self.match or ()), *self.include, *self.exclude]


class Case(NamedTuple):
    """An event with what is expected, or the `problem` that leaves nothing to judge."""

    file: Path
    number: int
    name: str | None
    event: Mapping[str, Any]
    expected: Expected
    problem: str | None = None

    def __str__(self) -> str:
        named = f" ({self.name})" if self.name else ""
        return f"{self.file}, case {self.number}{named}"


def case_of(file: Path, number: int, row: Mapping[str, Any]) -> Case:
    """A case from a row. Whatever is wrong with it stays with it, so that all others are judged."""
    name = None if row.get(NAME) is None else str(row[NAME])
    try:
        return Case(file, number, name, _event(row), _expected(row))
    except WrongCase as error:
        return broken_case(file, number, name, str(error))


def broken_case(file: Path, number: int, name: str | None, problem: str) -> Case:
    return Case(file, number, name, {}, Expected(None, [], []), problem)


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    """What stands below `event`; without that key, all that is no expectation."""
    given = row.get(EVENT)
    if isinstance(given, str) and given.lstrip().startswith("{"):
        given = _read_json(given)
    if not isinstance(given, Mapping):
        return {key: value for key, value in row.items() if key not in (NAME, *EXPECTATIONS)}
    unknown = [key for key in row if key not in KEYS]
    if unknown:
        near = near_misses(unknown[0], KEYS)
        raise WrongCase(
            f"there is no key {unknown[0]!r} in a case{f'; did you mean {near[0]!r}?' if near else f' ({FORM})'}"
        )
    return dict(given)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise WrongCase(f"the event is not JSON ({error})") from None


def _expected(row: Mapping[str, Any]) -> Expected:
    match, include, exclude = (ids_of(key, row.get(key)) for key in EXPECTATIONS)
    if match is None and include is None and exclude is None:
        raise WrongCase(f"nothing is expected; write {FORM}")
    if match is not None and include:
        raise WrongCase("`match` lists all rules that are true, so there is nothing to `include`; keep one of the two")
    both = [rule for rule in (match or include or []) if rule in (exclude or [])]
    if both:
        raise WrongCase(f"the rule {both[0]!r} is expected and excluded")
    return Expected(match, include or [], exclude or [])


def ids_of(key: str, value: Any) -> list[Any] | None:
    """A list of ids, or a single one; None if nothing is said.

    >>> ids_of("match", ["a", 7]), ids_of("match", "a"), ids_of("match", None)
    (['a', 7], ['a'], None)
    """
    if value is None or isinstance(value, list):
        wrong = next((each for each in value or () if isinstance(each, bool) or not isinstance(each, int | str)), None)
        if wrong is not None:
            raise WrongCase(f"`{key}` must list ids of rules (got {wrong!r:.60} among them)")
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise WrongCase(f"`{key}` must be a list of ids (got {value!r:.60})")
    return [value]

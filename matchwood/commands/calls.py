"""Arguments of commands: checked before any work begins, so that a slip costs nothing."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matchwood.commands.files.formats import format_of, format_to_write
from matchwood.encoding import Zone, read_schema
from matchwood.errors import MatchwoodError
from matchwood.matching import MOST_THREADS, RejectLimit, checked_threads


def _checked(check: Callable[[str], Any]) -> Callable[[str], str]:
    """A type for argparse that takes the text as it is if a check accepts it."""

    def value(text: str) -> str:
        try:
            check(text)
        except MatchwoodError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return text

    return value


schema_text = _checked(read_schema)
"""Types of attributes as DDL."""

timezone_name = _checked(Zone)

_with_format = _checked(lambda text: format_of(Path(text)))
_with_format_to_write = _checked(lambda text: format_to_write(Path(text)))


def table_file(text: str) -> Path:
    """A file whose ending tells its format."""
    return Path(_with_format(text))


def output_file(text: str) -> Path:
    """A file to write, whose ending tells its format."""
    return Path(_with_format_to_write(text))


def rules_source(text: str) -> Path:
    """A file of rules, or a folder of such files."""
    return Path(text) if Path(text).is_dir() else table_file(text)


def count(text: str) -> int:
    """A whole number of at least 1; underscores and commas may group its digits."""
    digits = text.replace(",", "")
    try:
        number = int(digits)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1 (got {text!r})")
    return number


def thread_count(text: str) -> int | None:
    """How many threads; None, for one a core, is `all`."""
    if text == "all":
        return None
    try:
        return checked_threads(count(text))
    except (MatchwoodError, argparse.ArgumentTypeError):
        told = f"must be a whole number from 1 to {MOST_THREADS:,}, or `all` (got {text!r})"
        raise argparse.ArgumentTypeError(told) from None


def reject_limit(text: str) -> int | float:
    """How many rules may be rejected: digits are a number of them, all else a share."""
    try:
        limit = int(text) if text.isdigit() else float(text)
        RejectLimit.of(limit)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return limit

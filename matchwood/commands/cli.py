"""`matchwood demo | check | build | match | explain | find | stats | versions | …`: all commands.

Whatever goes wrong is told in one line on standard error, and by the exit status: 1 for a failure, 2 for a wrong call.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa

import matchwood
from matchwood.commands import bench, build, check, demo, draw, explain, find, generate, match, spark, stats, versions
from matchwood.commands.calls import WrongCall
from matchwood.errors import MatchwoodError

COMMANDS = (demo, check, build, match, explain, find, stats, versions, draw, generate, bench, spark)

FAILED, WRONG_CALL, INTERRUPTED = 1, 2, 130


class _ArgumentParser(argparse.ArgumentParser):
    """Takes options by their full names only, and says in one line what is wrong with a call."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_CALL, f"{self.prog}: {message} ({self.prog} --help tells more)\n")


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    whole = _ArgumentParser(
        prog="matchwood", description="For every event, all the Boolean expressions that are true of it."
    )
    whole.add_argument("--version", action="version", version=f"matchwood {matchwood.__version__}")
    commands = whole.add_subparsers(title="commands", metavar="command", required=True)
    for command in COMMANDS:
        command.add_arguments(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status: 0 on success, 1 on failure, 2 on a wrong call."""
    if arguments is None:
        _print_anything()
    try:
        status = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        _stop_printing()
        return FAILED
    except WrongCall as error:
        return _complain(error, WRONG_CALL)
    except (MatchwoodError, OSError, pa.ArrowException) as error:
        return _complain(error, FAILED)
    except MemoryError:
        return _complain("out of memory", FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        parsed = parser().parse_args(arguments)
    except SystemExit as stop:  # argparse has printed the help, the version or what is wrong
        return int(stop.code or 0)
    return int(parsed.run(parsed))


def _complain(error: object, status: int) -> int:
    print(f"matchwood: {_one_line(error)}", file=sys.stderr)
    return status


def _one_line(error: object) -> str:
    """What happened, without the lines that point into a rule's text."""
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror}"
    return str(error).strip().split("\n")[0]


def _print_anything() -> None:
    """Ids and paths may hold what the terminal's encoding lacks: shown as escapes, instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _stop_printing() -> None:
    """The reader of our output is gone: let what is still in buffers go nowhere, or Python complains about it."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())

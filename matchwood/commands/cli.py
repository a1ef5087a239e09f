"""`matchwood demo | check | build | match | explain | find | stats | versions | …`: all commands.

A command is loaded when it is called, so that `matchwood --help` has nothing to wait for.

Whatever goes wrong is told in one line on standard error, and by the exit status: 1 for a failure, 2 for a wrong call.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import matchwood
from matchwood.commands.names import HELP, WrongCall
from matchwood.errors import MatchwoodError

FAILED, WRONG_CALL, INTERRUPTED = 1, 2, 130


class _ArgumentParser(argparse.ArgumentParser):
    """Takes options by their full names only, and says in one line what is wrong with a call."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_CALL, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"matchwood {matchwood.__version__}")
        parser.exit()


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """All commands with their options; or the options of `only` one, and the others by name."""
    whole = _ArgumentParser(
        prog="matchwood", description="Find, for every event, all the Boolean expressions that are true for it."
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = whole.add_subparsers(title="commands", metavar="command", required=True)
    for name, told in HELP.items():
        if only in (None, name):
            importlib.import_module(f"matchwood.commands.{name}").add_arguments(commands)
        else:
            commands.add_parser(name, help=told)
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
    except (MatchwoodError, OSError) as error:
        return _complain(error, FAILED)
    except MemoryError:
        return _complain("out of memory", FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except Exception as error:
        if not _is_of_arrow(error):
            raise
        return _complain(error, FAILED)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        given = sys.argv[1:] if arguments is None else arguments
        parsed = parser(only=given[0] if given else "").parse_args(arguments)
    except SystemExit as stop:  # argparse has printed the help, the version or what is wrong
        return int(stop.code or 0)
    return int(parsed.run(parsed))


def _is_of_arrow(error: Exception) -> bool:
    """Whether Arrow raised it, which is loaded then."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(error, arrow.ArrowException)


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

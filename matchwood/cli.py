"""The command line: `matchwood demo | check | build | match | explain | stats | bench`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from matchwood import __version__
from matchwood.commands import bench, demo, events, insight, rules
from matchwood.errors import MatchwoodError

ROOMS = (demo, rules, events, insight, bench)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="matchwood", description="For every event, all the Boolean expressions that are true of it."
    )
    parser.add_argument("--version", action="version", version=f"matchwood {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command", required=True)
    for room in ROOMS:
        room.add_arguments(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 on success, 1 on failure, 2 on a wrong call."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except MatchwoodError as error:
        print(f"matchwood: {error}", file=sys.stderr)
    except OSError as error:
        print(f"matchwood: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("matchwood: interrupted", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

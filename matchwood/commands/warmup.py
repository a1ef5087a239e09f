"""`matchwood warmup`: kernels compiled and kept before anybody waits for them, as in images and init scripts."""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import matchwood
from matchwood.choosing import (
    rehearse_changes,
    rehearse_loading,
    rehearse_matching,
    rehearse_ranking,
    rehearse_trial,
    rule,
)
from matchwood.commands.names import HELP
from matchwood.core import always_compiled, cache_directory, compilations
from matchwood.engines import chosen_names, engine_names
from matchwood.errors import counted
from matchwood.insight import SEMANTICS
from matchwood.progress import Progress
from matchwood.sharding import open_shards

AUTO = "auto"


class Share(NamedTuple):
    """What one process warms up: the life of some engines, and trials of some by `auto`."""

    engines: tuple[str, ...]
    tried: tuple[str, ...] = ()


def add_arguments(commands: Any) -> None:
    warmup = commands.add_parser("warmup", help=HELP["warmup"])
    every = [AUTO, *engine_names()]
    warmup.add_argument("--engines", nargs="+", choices=every, default=every, metavar="ENGINE", help="default: all")
    warmup.add_argument(
        "--processes",
        type=_count,
        default=1,
        metavar="N",
        help="how many processes compile at the same time (default: 1)",
    )
    warmup.set_defaults(run=run)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number of at least 1 (got {text!r})")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Each engine goes through the life of a small index; what is compiled on the way is kept."""
    first, *others = shares_of(list(dict.fromkeys(arguments.engines)), arguments.processes)
    with Progress("compiling kernels"):
        compiled = warm_up(first)
        if others:
            with ProcessPoolExecutor(len(others), multiprocessing.get_context("spawn")) as pool:
                compiled += sum(pool.map(warm_up, others))
    print(f"{counted(compiled, 'kernel')} compiled, kept in {cache_directory()}")
    return 0


def shares_of(engines: list[str], processes: int) -> list[Share]:
    """What is done first, for it is what all engines need, and what several processes do then."""
    tried = chosen_names() if AUTO in engines else ()
    if processes == 1:
        return [Share(tuple(engines), tuple(tried))]
    first, *others = engines
    shared = [Share(tuple(others[place::processes]), tuple(tried[place::processes])) for place in range(processes)]
    return [Share((first,)), *(share for share in shared if share.engines or share.tried)]


def warm_up(share: Share) -> int:
    """How many kernels had to be compiled."""
    with always_compiled(), compilations() as compiled:
        for engine in share.engines:
            for step in steps_of(engine):
                step()
        for name in share.tried:
            rehearse_trial(matchwood.Index(AUTO), name, {})
    return len(compiled)


def steps_of(engine: str) -> Iterator[Callable[[], None]]:
    """What is done with one engine, from what is needed first to what few will ask for."""
    yield lambda: rehearse_changes(matchwood.Index(engine))
    yield lambda: rehearse_changes(matchwood.Index(engine), int)
    yield lambda: rehearse_loading(matchwood.Index(engine))
    yield lambda: rehearse_loading(matchwood.Index(engine), int)
    yield lambda: rehearse_ranking(matchwood.Index(engine))
    yield lambda: _look_into(engine)
    yield lambda: _save_and_open(engine)


def _filled(engine: str) -> matchwood.Index:
    index = matchwood.Index(engine)
    rehearse_ranking(index)
    return index


def _look_into(engine: str) -> None:
    """Few rules, and none with a dozen operands: what kernels leave open is decided case by case, which takes long."""
    index = matchwood.Index(engine)
    index.insert_many({str(number): rule(number) for number in range(60) if number % 10 < 6})
    for semantics in SEMANTICS:
        index.find("n between 3 and 9 and (s = 'a1' or x > 5)", semantics)
    index.lint()
    index.stats()


def _save_and_open(engine: str) -> None:
    """Arrays that are mapped from files are read-only: kernels are compiled for them as well."""
    with tempfile.TemporaryDirectory(prefix="matchwood-warmup-") as directory:
        _filled(engine).save(directory)
        opened = matchwood.open(directory, read_only=True)
        rehearse_matching(opened)
        opened.stats()
        list(open_shards(directory).answers([{"n": 1}]))
        changed = matchwood.open(directory)
        changed["new"] = "n = 1 or s = 'a1'"
        del changed["new"]
        rehearse_matching(changed)

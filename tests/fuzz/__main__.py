"""`python -m tests.fuzz --cases 1000000 --seed 1 --engine atree`: the fuzz by hand; failures are shown shrunk."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.campaign import Campaign
from tests.fuzz.options import ENGINES
from tests.fuzz.running import Failure
from tests.fuzz.shrinking import shrunk


def main() -> int:
    asked = _arguments()
    begun = time.monotonic()

    def tell(case: int, failure: Failure) -> None:
        small = failure if asked.no_shrink else shrunk(failure, asked.shrink)
        again = f"--seed {asked.seed} --first {case} --each {asked.each} --engine {failure.setup.engine}"
        print(f"\n# python -m tests.fuzz {again}\n# {failure.setup}\n{small.snippet()}\n", flush=True)

    campaign = Campaign(asked.seed, asked.engine or ENGINES, asked.each, told=tell)
    campaign.run(asked.cases, asked.first, asked.failures)
    for engine, count in sorted(campaign.cases.items()):
        print(f"{engine:10} {count:>12,} cases, {len(campaign.covered[engine]):,} values and pairs of options")
    print(f"{campaign.cases.total():,} cases in {time.monotonic() - begun:.0f} s, {len(campaign.failures)} failures")
    return 1 if campaign.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="how many cases to judge, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the case (world) to begin with")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this engine; may be given again")
    parser.add_argument("--each", type=int, default=1, help="configurations of each engine that a world is run on")
    parser.add_argument("--failures", type=int, default=10, help="how many failures to stop at")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds for making a failure small")
    parser.add_argument("--no-shrink", action="store_true")
    return parser.parse_args()


sys.exit(main())

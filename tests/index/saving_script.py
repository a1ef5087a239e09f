"""A process that saves an index again and again, until somebody kills it.

    saving_script.py PATH START        save generations START, START + 1, … and print each number when it is saved
"""

from __future__ import annotations

import sys

import matchwood as mw


def generation(number: int) -> mw.Index:
    """An index all of whose rules name the generation."""
    index = mw.Index()
    index.insert_many({f"r{place}": f"generation = {number} and place = {place} or name = 'g{number}'" for place in range(20)})
    return index


if __name__ == "__main__":
    for number in range(int(sys.argv[2]), 1_000_000):
        generation(number).save(sys.argv[1])
        print(number, flush=True)

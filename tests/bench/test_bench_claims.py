"""What `bench list` claims is what runs."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.registry import experiment
from matchwood.bench.report.figures import CLAIMS, FIGURES, MORE, PAPERS, Claim, upheld
from matchwood.commands.cli import main


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claimed_figure_runs_at_paper_scale(name: str) -> None:
    parts = experiment(name).parts("paper")
    problems = {claim.section: upheld(claim, parts) for claim in CLAIMS[name]}
    assert not {section: problem for section, problem in problems.items() if problem}
    assert len(problems) == len(CLAIMS[name])


FALSE = [
    ("betree", Claim("matching", "Fig. 17 (e)", ("matching", "expressiveness"), (0.0001, 0.35)), "matching is never"),
    ("betree", Claim("q-grams", "Fig. 19", ("rules",), (100_000, 760_000)), "rules is never"),
    ("betree", Claim("Bloom filter", "Fig. 27", ("rules",), (100_000, 1_000_000)), "rules is never"),
    ("betree", Claim("false candidates", "Fig. 22"), "nothing runs"),
    ("atree", Claim("sharing", "Fig. 7"), "nothing runs"),
    ("atree", Claim("depth", "Fig. 12 (b)", ("depth",), (1, 6)), "something else changes"),
    ("atree", Claim("rules", "Fig. 12 (a)", ("rules",), (100_000, 30_000_000)), "rules is never"),
]


@pytest.mark.parametrize(("name", "claim", "problem"), FALSE)
def test_a_claim_that_is_not_run_is_found_out(name: str, claim: Claim, problem: str) -> None:
    assert problem in str(upheld(claim, experiment(name).parts("paper")))


def test_a_claim_needs_all_its_values() -> None:
    parts = [ExperimentPart(f"x {x}", list, (FigurePlace("x", "x", x),), {"x": x, "seed": x}) for x in (1, 2)]
    assert upheld(Claim("x", "Fig. 1", ("x",), (1, 2)), parts) is None
    assert upheld(Claim("x", "Fig. 1", ("x",), (1, 2, 3)), parts) == "x is never [3]"
    other = [parts[0], parts[1]._replace(settings={"x": 2, "rules": 5})]
    assert upheld(Claim("x", "Fig. 1", ("x",), (1, 2)), other) == "something else changes, too"


def test_claimed_sections_have_rows(results: dict[str, Any]) -> None:
    """Of what the scale of the tests runs; each has what its figure shows."""
    for name in ("hem", "atree"):
        rows = results[name]["rows"]
        for section in {row["section"] for row in rows} & set(FIGURES[name]):
            own = [row for row in rows if row["section"] == section]
            shown = ("us_per_event", "match_us", "encode_us", *MORE.get(name, {}).get(section, ()))
            assert all(row.get(column) is not None for row in own for column in shown), section


def test_the_list_says_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "list"]) == 0
    shown = capsys.readouterr().out
    parts = {name: shown.partition(f"{name} reproduces these parts of {PAPERS[name]}:")[2] for name in CLAIMS}
    parts = {name: part.partition(" reproduces ")[0] for name, part in parts.items()}
    for name, claims in CLAIMS.items():
        for claim in claims:
            assert claim.figure in parts[name]
    assert "Fig. 17" in parts["kindex"]
    assert "Fig. 17" not in parts["betree"]
    assert all(len(line) <= 120 for line in shown.splitlines())

"""The parsing benchmark: its rules, its rows, and that its check can fail."""

from __future__ import annotations

import json
import re

import pytest

from matchwood.bench.own import parse as bench
from matchwood.bench.own.parse_rivals import RIVALS
from matchwood.errors import InvalidArgument
from matchwood.language import parse


def test_no_constant_and_no_rule_occurs_twice() -> None:
    rules = bench.generate(500)
    assert rules == bench.generate(500) != bench.generate(500, seed=1)
    assert len(set(rules)) == 500
    constants = re.findall(r"(?<![\w_])v?\d+(?:\.\d+)?(?![\w])", " ".join(rules))
    assert len(constants) == len(set(constants)) >= 500 * bench.PREDICATES


def test_the_rows_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.SCALES, "quick", (200, 20))
    result = json.loads(json.dumps(bench.run()))
    assert (result["experiment"], result["scale"]) == ("parse", "quick")
    assert [row["parser"] for row in result["rows"]][:2] == ["matchwood", "matchwood, token by token"]
    for row in result["rows"]:
        assert row["checked"] is True
        assert row["predicates_per_rule"] == 8
        assert row["rules_per_second"] > 0
    assert [row["rules"] for row in result["rows"]][:2] == [200, 50]


def test_a_scale_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="unknown scale 'huge'"):
        bench.run("huge")


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_reads_the_same_trees(name: str) -> None:
    pytest.importorskip(name)
    assert bench.check(name, RIVALS[name](), bench.generate(100))


def test_a_wrong_tree_is_noticed() -> None:
    rules = bench.generate(5)
    for wrong in (lambda rule: parse("x = 1"), lambda rule: parse(" " + rule), lambda rule: parse(f"not ({rule})")):
        with pytest.raises(RuntimeError, match="broken read"):
            bench.check("broken", wrong, rules)

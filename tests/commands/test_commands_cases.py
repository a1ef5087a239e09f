"""`matchwood test`: rules, and what cases expect of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from matchwood.commands.cli import parser

RULES = """\
adults: age >= 18 and country in ('US', 'CA')
minors:
  expression: age < 18
  weight: 2
"""
GOOD = """\
- case: an adult
  event: {age: 20, country: US}
  match: [adults]
- event: {age: 17, country: NO}
  include: minors
  exclude: [adults]
- event: {}
  match: []
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `rules/base.yaml` and `cases/`."""
    monkeypatch.chdir(tmp_path)
    for folder in ("rules", "cases"):
        Path(folder).mkdir()
    Path("rules/base.yaml").write_text(RULES)
    Path("rules/README.md").write_text("no rules")
    return tmp_path


def test_all_is_well(rules: Path, run: Any) -> None:
    Path("cases/good.yaml").write_text(GOOD)
    done = run("test", "rules", "cases")
    assert (done.status, done.err) == (0, "")
    assert done.out == "2 rules in 1 file, 3 cases in 1 file: 3 passed, 0 failed, 0 errors\n"


def test_a_failure_tells_rule_event_and_reason(rules: Path, run: Any) -> None:
    Path("cases/bad.yaml").write_text("- case: Norway\n  event: {age: 20, country: NO}\n  match: [adults]\n")
    done = run("test", "rules", "cases")
    assert done.status == 1
    assert done.out == (
        "FAILED cases/bad.yaml, case 1 (Norway)\n"
        '  event: {"age": 20, "country": "NO"}\n'
        "  adults (rules/base.yaml) should match, but does not\n"
        "    ✗ and\n"
        "    ├─ ✓ age >= 18                age = 20\n"
        "    └─ ✗ country in ('US', 'CA')  country = 'NO'  ◄\n"
        "    FALSE, decided by ◄\n"
        "note: no case expects 1 rule to match: minors\n"
        "2 rules in 1 file, 1 case in 1 file: 0 passed, 1 failed, 0 errors\n"
    )


def test_a_rule_that_matches_and_should_not(rules: Path, run: Any) -> None:
    Path("cases/bad.jsonl").write_text(
        '{"event": {"age": 1}, "match": []}\n{"event": {"age": 1}, "exclude": "minors"}\n'
    )
    done = run("test", "rules", "cases/bad.jsonl")
    assert done.status == 1
    assert done.out.count("minors (rules/base.yaml) should not match, but does\n    ✓ age < 18  age = 1  ◄\n") == 2
    assert "0 passed, 2 failed" in done.out


WRONG = [
    ("event: {age: 1}, match: [minor]", "there is no rule 'minor'; did you mean 'minors'?"),
    ("event: {age: 1}, match: [zzz]", "there is no rule 'zzz'"),
    ("event: {age: 1}, macth: [minors]", "there is no key 'macth' in a case; did you mean 'match'?"),
    ("event: {age: 1}", "nothing is expected; write event: {age: 20}, match: [ids], or include: and exclude: with"),
    ("event: {age: 1}, match: [minors], include: [adults]", "so there is nothing to `include`; keep one of the two"),
    ("event: {age: 1}, include: [minors], exclude: [minors]", "the rule 'minors' is expected and excluded"),
    ("event: {age: old}, match: []", "'age' must be number"),
    ("event: {age: 1}, match: [1.5]", "`match` must list ids of rules (got 1.5 among them)"),
    ("event: {age: 1}, match: true", "`match` must be a list of ids (got True)"),
]


@pytest.mark.parametrize(("case", "told"), WRONG)
def test_a_case_that_cannot_be_judged_is_an_error(case: str, told: str, rules: Path, run: Any) -> None:
    Path("cases/odd.yaml").write_text(f"- {{{case}}}\n- {{event: {{age: 3}}, match: minors}}\n")
    done = run("test", "rules", "cases")
    assert done.status == 1
    (line,) = [line for line in done.out.splitlines() if line.startswith("ERROR")]
    assert line.startswith("ERROR cases/odd.yaml, case 1: ")
    assert told in line
    assert done.out.endswith("1 passed, 0 failed, 1 error\n")


def test_rejected_rules_fail(rules: Path, run: Any) -> None:
    Path("rules/more.csv").write_text("id,expression\ntypo,age => 5\nadults,age > 1\n")
    Path("cases/good.yaml").write_text(GOOD + "- {event: {age: 6}, include: [typo]}\n")
    done = run("test", "rules", "cases", "--junit", "out.xml")
    assert done.status == 1
    assert "FAILED rules/more.csv, rule typo: rejected, line 1, column 5: found '=>'" in done.out
    assert "FAILED rules/more.csv, rule adults: rejected, " in done.out
    assert "ERROR cases/good.yaml, case 4: the rule 'typo' was rejected: line 1, column 5: found '=>'" in done.out
    assert "2 rejected" in done.out.splitlines()[-1]
    assert not Path("rules.rejects.csv").exists()
    suite = ElementTree.parse("out.xml").getroot()[0]
    assert [(each.get("name"), each.find("failure") is not None) for each in suite] == [
        ("rules", False),
        ("rule typo", True),
        ("rule adults", True),
    ]


def test_junit(rules: Path, run: Any) -> None:
    Path("cases/a.yaml").write_text(GOOD)
    Path("cases/b.jsonl").write_text(
        json.dumps({"case": "odd \x00 <name>", "event": {"age": 20}, "match": ["minors"]})
        + '\n{"event": {"age": 2}, "match": ["nobody"]}\n'
    )
    assert run("test", "rules", "cases", "--junit", "out.xml").status == 1
    root = ElementTree.parse("out.xml").getroot()
    assert [suite.get("name") for suite in root] == ["rules", "cases/a.yaml", "cases/b.jsonl"]
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "6",
        "failures": "1",
        "errors": "1",
    }
    failed, wrong = root[2]
    assert (failed.get("name"), failed.get("classname")) == ("case 1: odd � <name>", "cases/b.jsonl")
    assert failed.find("failure").get("message") == "minors (rules/base.yaml) should match, but does not"  # type: ignore[union-attr]
    assert 'event: {"age": 20}' in str(failed.find("failure").text)  # type: ignore[union-attr]
    assert wrong.find("error").get("message") == "there is no rule 'nobody'"  # type: ignore[union-attr]


def test_cases_in_csv(rules: Path, run: Any) -> None:
    Path("rules/ids.csv").write_text("id,expression\n7,age = 7\n")
    Path("rules/base.yaml").unlink()
    Path("cases/flat.csv").write_text(
        'case,age,match,exclude\nseven,7,7,\neight,8,"",\nnot eight,8,,7\nnine,9,"[7]",\nodd,x,7,\n'
    )
    done = run("test", "rules", "cases")
    assert done.status == 1
    assert "FAILED cases/flat.csv, case 4 (nine)" in done.out
    assert "ERROR cases/flat.csv, case 5: 'age' must be a number (got 'x')" in done.out
    assert done.out.endswith("3 passed, 1 failed, 1 error\n")


def test_nearly_the_name_of_an_attribute(rules: Path, run: Any) -> None:
    Path("cases/slip.yaml").write_text("- {event: {age: 20, contry: US, page: 1}, exclude: [adults]}\n")
    done = run("test", "rules", "cases", "--missing", "null")
    assert done.status == 0
    assert "note: cases/slip.yaml, case 1: no rule names 'contry'; did you mean 'country'?\n" in done.out
    done = run("test", "rules", "cases", "--missing", "error")
    assert done.status == 1
    assert "ERROR cases/slip.yaml, case 1: " in done.out


def test_every_rule_needs_a_case(rules: Path, run: Any) -> None:
    Path("cases/one.yaml").write_text("- {event: {age: 20}, exclude: [adults, minors]}\n")
    assert run("test", "rules", "cases").status == 0
    done = run("test", "rules", "cases", "--require-cases", "--junit", "out.xml")
    assert done.status == 1
    assert "FAILED no case expects 2 rules to match: adults, minors\n" in done.out
    assert [case.get("name") for case in ElementTree.parse("out.xml").iter("testcase")][1:3] == [
        "rule adults",
        "rule minors",
    ]


def test_rules_of_a_saved_index(rules: Path, run: Any) -> None:
    assert run("build", "rules", "index").status == 0
    Path("cases/good.yaml").write_text(GOOD)
    assert run("test", "index", "cases").out.startswith("2 rules, 3 cases in 1 file: 3 passed")
    assert run("test", "index@1", "cases").status == 0
    assert run("test", "index@9", "cases").status == 1
    assert "this is a saved index" in run("check", "index").err


@pytest.mark.parametrize("engine", ["oracle", "scan", "atree"])
def test_other_engines(engine: str, rules: Path, run: Any) -> None:
    Path("cases/good.yaml").write_text(GOOD)
    assert run("test", "rules", "cases", "--engine", engine).status == 0


def test_rules_without_cases(rules: Path, run: Any) -> None:
    assert run("test", "rules")[:2] == (0, "2 rules in 1 file can be used, 0 cannot\n")
    Path("rules/more.csv").write_text("id,expression\ntypo,age => 5\n")
    done = run("test", "rules")
    assert (done.status, done.out.splitlines()[-1]) == (1, "2 rules in 2 files can be used, 1 cannot")
    assert run("test", "rules", "--require-cases").status == 2


def test_wrong_calls(rules: Path, run: Any) -> None:
    assert run("test", "rules", "nowhere").err == "matchwood: nowhere: there is no such file or folder\n"
    assert run("test", "nowhere", "cases").err == "matchwood: nowhere: there is no such file or folder\n"
    assert "there is no file of cases in this folder" in run("test", "rules", "cases").err
    Path("cases/none.yaml").write_text("[]\n")
    assert "cases: there is no case; write one as" in run("test", "rules", "cases").err
    Path("cases/good.yaml").write_text(GOOD)
    done = run("test", "rules", "cases", "--junit", "cases/good.yaml")
    assert (done.status, Path("cases/good.yaml").read_text()) == (2, GOOD)
    assert run("test", "rules", "cases", "--junit", "no/out.xml").err.startswith("matchwood: no/out.xml: cannot be")
    assert "test" in parser(only="").format_help()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\na: 2\n", "bad.yaml, line 1: not readable as YAML (the key 'a' occurs twice)"),
        ("- [\n", "not readable as YAML"),
        ("age\n", "bad.yaml: must be a list of objects (got a str)"),
        ("- 5\n", "bad.yaml, entry 1: must be an object (got an int)"),
    ],
)
def test_yaml_that_cannot_be_read(text: str, told: str, rules: Path, run: Any) -> None:
    Path("bad.yaml").write_text(text)
    done = run("check", "bad.yaml")
    assert done.status == 1
    assert told in done.err


def test_plain_values_of_yaml(rules: Path, run: Any) -> None:
    """`NO` is a country and `007` a name; only `true` and `false` are truth values, only digits numbers."""
    from matchwood.commands.files.documents import read_rows

    Path("v.yaml").write_text(
        "- {a: NO, b: on, c: 12:30, d: 007, e: 2026-01-31, f: 1e3, g: -5, h: true, i: ~, j: .5}\n"
    )
    (row,) = read_rows(Path("v.yaml"))
    expected = {"a": "NO", "b": "on", "c": "12:30", "d": "007", "e": "2026-01-31", "f": 1000.0, "g": -5, "h": True}
    assert row == expected | {"i": None, "j": 0.5}


def test_yaml_is_not_written(rules: Path, run: Any) -> None:
    done = run("check", "rules", "--rejects", "out.yaml")
    assert done.status == 2
    assert "YAML is read, not written" in done.err


def test_an_array_of_json(rules: Path, run: Any) -> None:
    Path("rules.json").write_text('[\n  {"id": "a", "expression": "x = 1"},\n  {"id": "b", "expression": "x = 2"}\n]\n')
    assert run("check", "rules.json").out == "rules.json: 2 rules can be used, 0 cannot\n"
    Path("rules.json").write_text('[{"id": "a"}, 5]')
    assert "rules.json, entry 2: must be a JSON object (got 5)" in run("check", "rules.json").err


def test_a_folder_of_rules_is_one_set(rules: Path, run: Any) -> None:
    """Ids in CSV are integers only if those of all files are."""
    Path("rules/base.yaml").unlink()
    Path("rules/a.csv").write_text("id,expression\n1,x = 1\n")
    Path("rules/b.csv").write_text("id,expression\ntwo,x = 2\n")
    Path("rules/c.rejects.csv").write_text("id,expression\nold,x => 2\n")
    assert run("check", "rules").out == "rules: 2 rules can be used, 0 cannot\n"

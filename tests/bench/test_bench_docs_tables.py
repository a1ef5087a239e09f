"""Tables of figures on pages are written by a command, and show what the kept results say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from matchwood.bench import page_with_charts, page_with_figures, read_result, write_result
from matchwood.commands.cli import main
from matchwood.errors import InvalidArgument

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
KEPT = sorted((ROOT / "docs" / "figures").glob("*.json"))

ROWS = [
    {"engine": "scan", "workload": "uniform", "rules": 100, "us_per_event": 75.91, "bytes_index": 1200},
    {"engine": "scan", "workload": "zipf", "rules": 100, "us_per_event": 99.4, "bytes_index": 1200},
    {"engine": "betree, as published", "workload": "uniform", "rules": 100, "us_per_event": 72.2, "bytes_index": None},
]
PAGE = """Before.

<!-- figures betree
{asked}
-->
old
<!-- end of figures -->
After.
"""


def _page(results: Path, asked: str) -> str:
    result = {"experiment": "betree", "scale": "quick", "rows": ROWS, "runs": []}
    (results / "betree.json").write_text(json.dumps(result), encoding="utf-8")
    return page_with_figures(PAGE.format(asked=asked), results)


def _table(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("|")]


def test_a_flat_table_divides_and_leaves_empty_what_is_not_there(tmp_path: Path) -> None:
    asked = "where: workload = uniform\nrows: engine\nshow: us_per_event as µs, bytes_index / rules as bytes a rule"
    page = _page(tmp_path, asked)
    assert _table(page) == [
        "| engine | µs | bytes a rule |",
        "| --- | --- | --- |",
        "| scan | 75.9 | 12 |",
        "| betree, as published | 72.2 |  |",
    ]
    assert page.startswith("Before.")
    assert page.endswith("After.\n")
    assert "old" not in page
    assert "`matchwood bench run betree --scale quick`." in page


def test_values_of_a_field_become_columns(tmp_path: Path) -> None:
    page = _page(tmp_path, "rows: engine\nacross: workload\nshow: us_per_event as µs")
    assert _table(page) == [
        "| engine (µs) | uniform | zipf |",
        "| --- | --- | --- |",
        "| scan | 75.9 | 99.4 |",
        "| betree, as published | 72.2 |  |",
    ]


def test_rows_come_in_the_order_in_which_they_are_asked_for(tmp_path: Path) -> None:
    asked = "where: workload = uniform\nwhere: engine = betree* | scan\nrows: engine\nshow: us_per_event as µs"
    assert _table(_page(tmp_path, asked))[2:] == ["| betree, as published | 72.2 |", "| scan | 75.9 |"]


def test_values_have_names_shares_are_percentages_and_the_least_is_bold(tmp_path: Path) -> None:
    asked = (
        "rows: workload\nwith: rules\nacross: engine\nshow: us_per_event as µs, us_per_event / rules % as share\n"
        "call: uniform = BEGen uniform\ncall: betree, as published = the paper's\nbold: least"
    )
    assert _table(_page(tmp_path, asked)) == [
        "| workload | rules | scan: µs | scan: share | the paper's: µs | the paper's: share |",
        "| --- | --- | --- | --- | --- | --- |",
        "| BEGen uniform | 100 | 75.9 | 76% | **72.2** | 72% |",
        "| zipf | 100 | **99.4** | 99% |  |  |",
    ]


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    page = _page(tmp_path, "where: engine = *published\nrows: engine\nshow: us_per_event")
    assert page_with_figures(page, tmp_path) == page


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("columns: engine", "write one of where, rows, with, across, show, call, bold, plot and a colon"),
        ("rows: engine", "a table has `rows` and `show`"),
        ("rows: engine\nshow: us_per_event\nbold: most", "`bold` can be `least` alone"),
        ("rows: rules\nacross: engine\nshow: us_per_event", "two rows of the result for 100, scan; narrow `where`"),
        ("where: engine = nobody\nrows: engine\nshow: us_per_event", "no row of the result is asked for"),
    ],
)
def test_a_table_that_cannot_be_written_says_why(tmp_path: Path, asked: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        _page(tmp_path, asked)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_show_the_kept_results(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert page_with_figures(page, ROOT / "docs" / "figures") == page, "run `matchwood bench pages`"


def test_a_kept_result_has_a_line_for_each_row(tmp_path: Path) -> None:
    result = {"experiment": "betree", "scale": "quick", "rows": ROWS, "runs": []}
    write_result(tmp_path / "betree.json", result)
    assert read_result(tmp_path / "betree.json") == result
    lines = (tmp_path / "betree.json").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line.rstrip(",")) for line in lines[2:-1]] == ROWS


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_results_are_kept_as_they_are_written(path: Path, tmp_path: Path) -> None:
    write_result(tmp_path / path.name, read_result(path))
    assert (tmp_path / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_the_command_writes_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(_page(tmp_path, "rows: engine\nshow: us_per_event").replace("75.9", "1.0"), encoding="utf-8")
    assert main(["bench", "pages", str(page), "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{page}\n1 of 1 pages changed\n"
    assert "75.9" in page.read_text(encoding="utf-8")


def test_a_table_that_asks_for_it_has_a_chart(tmp_path: Path) -> None:
    page = _page(
        tmp_path, "rows: workload\nacross: engine\nshow: us_per_event as µs\nplot: us_per_event as µs per event"
    )
    assert "<svg" not in page
    drawn = page_with_charts(page, tmp_path)
    figure = re.search(r'<figure class="bars">(<svg.*</svg>)<figcaption>(.*)</figcaption></figure>', drawn)
    assert figure is not None
    texts = [text.text for text in ElementTree.fromstring(figure[1]).findall(".//{*}text")]
    assert texts == ["uniform", "scan", "75.9", "betree, as published", "72.2", "zipf", "scan", "99.4", "µs per event"]
    assert figure[2] == "<code>matchwood bench run betree --scale quick</code>"
    assert drawn.replace(figure[0], "").split() == page.split()


def test_an_axis_on_which_bars_would_vanish_is_logarithmic_and_says_so(tmp_path: Path) -> None:
    rows = [{"engine": "a", "us_per_event": 1.0}, {"engine": "b", "us_per_event": 400.0}]
    result = {"experiment": "betree", "scale": "quick", "rows": rows, "runs": []}
    (tmp_path / "betree.json").write_text(json.dumps(result), encoding="utf-8")
    asked = "rows: engine\nshow: us_per_event\nplot: us_per_event as µs"
    assert "µs (logarithmic)</text>" in page_with_charts(PAGE.format(asked=asked), tmp_path)

"""A folder with rules and events in it, and a way to call commands as a shell would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from commands_support import EVENTS, RULES, Done

from matchwood.commands.cli import main
from matchwood.progress import Progress

Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def _no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is compiled yet, commands take long, and would tell so between what they say."""
    monkeypatch.setattr(Progress, "QUIET_SECONDS", 3600.0)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Call a command in this process."""

    def call(*arguments: object) -> Done:
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        return Done(status, *capfd.readouterr())

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: `rules` and `events` as .csv, .jsonl and .parquet, with the same contents."""
    monkeypatch.chdir(tmp_path)
    rules = pa.table({"id": [name for name, _ in RULES], "expression": [text for _, text in RULES]})
    pa_csv.write_csv(rules, "rules.csv")
    pa_parquet.write_table(rules, "rules.parquet")
    Path("rules.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rules.to_pylist()))
    Path("events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    pa_parquet.write_table(pa.Table.from_pylist(EVENTS), "events.parquet")
    Path("events.csv").write_text(_csv_events())
    return tmp_path


def _csv_events() -> str:
    lines = ["who,age,country,tags,plan,seen"]
    for event in EVENTS:
        cells = {name: "" if value is None else value for name, value in event.items()}
        if event["tags"] is not None:
            cells["tags"] = '"' + json.dumps(event["tags"]).replace('"', '""') + '"'
        lines.append(",".join(map(str, cells.values())))
    return "\n".join(lines) + "\n"


@pytest.fixture
def built(folder: Path, run: Run) -> Path:
    """The folder, with the index `rules.matchwood`."""
    assert run("build", "rules.csv", "rules.matchwood").status == 0
    return folder

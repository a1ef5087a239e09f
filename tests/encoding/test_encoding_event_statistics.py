"""Event counters: what observed events were like, through splits, merges, new labels, compaction and snapshots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import matchwood as mw
from matchwood.encoding import Encoder
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL, EncodedEvents
from matchwood.encoding.events import statistics
from matchwood.encoding.spaces.base import Spaces, spaces_class
from tests.encoding.encoding_support import Rules

NAMES = ["sorted", "pstree"]


def interval(low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([low], np.int32), np.array([high], np.int32)


def weight(spaces: Spaces, low: int, high: int) -> float:
    return spaces.observed_between(*interval(low, high)).item()


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def spaces(name: str) -> Spaces:
    return spaces_class(name)("int")


def observe(spaces: Spaces, values: list[int]) -> None:
    spaces.observe(spaces.locate_many(np.array(values, np.int64)))


def test_each_space_counts_its_events(spaces: Spaces) -> None:
    low, high = spaces.add_many([20, 60]).tolist()
    observe(spaces, [1, 20, 30, 59, 60, 99, 100])
    assert weight(spaces, BOTTOM_LABEL, low) == 1
    assert weight(spaces, low, high) == 3
    assert weight(spaces, high, TOP_LABEL) == 3
    observe(spaces, [21])
    assert weight(spaces, low, high) == 4
    spaces.fade(0.5)
    assert (weight(spaces, low, high), weight(spaces, BOTTOM_LABEL, TOP_LABEL)) == (2, 4)


def test_a_split_shares_and_a_merge_adds(spaces: Spaces) -> None:
    low, high = spaces.add_many([0, 100]).tolist()
    observe(spaces, [-1] + [50] * 8)
    middle = spaces.add_many([50]).item()
    below, above = weight(spaces, low, middle), weight(spaces, middle, high)
    assert below > 0 < above
    assert below + above == 8
    observe(spaces, [60, 70])
    assert weight(spaces, middle, high) == pytest.approx(above + 2)
    spaces.release_many(np.array([middle], np.int32))
    observe(spaces, [50])
    assert weight(spaces, low, high) == 11
    spaces.release_many(np.array([low, high], np.int32))
    observe(spaces, [1])
    assert weight(spaces, BOTTOM_LABEL, TOP_LABEL) == 13


def test_new_labels_keep_the_counts(spaces: Spaces) -> None:
    spaces.add_many(list(range(0, 1000, 100)))
    observe(spaces, list(range(0, 1000, 10)))
    low, high = 400, 500
    for _ in range(200):
        middle = (low + high) // 2
        if middle in (low, high):
            break
        spaces.add_many([middle])
        low = middle
    spaces.add_many(list(range(-(2**40), 2**40, 2**24)))
    start, stop = spaces.locate(300), spaces.locate(400)
    assert weight(spaces, start, stop) == pytest.approx(10, rel=1e-3)
    assert weight(spaces, BOTTOM_LABEL, TOP_LABEL) == pytest.approx(100, rel=1e-3)


def test_counters_that_count_nothing_take_no_room(name: str) -> None:
    spaces = spaces_class(name)("string")
    low, high = 0, 2**120
    for step in range(100):
        middle = (low + high) // 2
        spaces.add_many([f"{middle:032x}"])
        low, high = (middle, high) if step % 2 else (low, middle)
    assert spaces.stats()["relabelled"] >= 1
    assert spaces._events.nbytes == 0  # type: ignore[attr-defined]


def test_counters_are_saved(name: str) -> None:
    spaces = spaces_class(name)("int")
    labels = spaces.add_many(list(range(50)))
    assert len(spaces.arrays()["observed"]) == 0
    observe(spaces, [3, 3, 4])
    saved = spaces.arrays()
    assert len(saved["observed"]) == 51
    other = spaces_class(name)("int", saved)
    assert weight(other, labels[3], labels[5]) == 3
    observe(other, [4])
    assert weight(other, labels[4], labels[5]) == 2


@pytest.mark.parametrize("observed", [[1.0, 2.0], [1.0, -1.0, 1.0], [1.0, np.nan, 1.0]])
def test_damaged_counters_are_refused(name: str, observed: list[float]) -> None:
    make = spaces_class(name)
    spaces = make("int")
    labels = spaces.add_many([1, 2])
    saved = {**spaces.arrays(), "observed": np.array(observed, np.float32)}

    def use() -> None:
        make.check_saved(saved, {name: np.array([0, len(array)]) for name, array in saved.items()})
        make("int", saved).observed_between(labels[:1], labels[1:])

    with pytest.raises((ValueError, mw.CorruptSnapshot), match="event counters"):
        use()


# ------------------------------------------------------------------------ encoder


def shares(rules: Rules, name: str) -> list[float]:
    encoded = rules.stored[name][1]
    owners = np.repeat(encoded.attributes, np.diff(encoded.pieces))
    return rules.encoder.event_statistics.shares(owners, encoded.low, encoded.high).tolist()


def batch(encoder: Encoder, events: list[dict[str, object]]) -> EncodedEvents:
    (encoded,) = (part.events for part in encoder.event_batches(events))
    return encoded


def test_shares_of_predicates(name: str) -> None:
    rules = Rules(Encoder(spaces=name))
    rules.add("adult", "age >= 18")
    rules.add("us", "country = 'US'")
    rules.add("vip", "'vip' in tags")
    rules.add("known", "phone is not null")
    assert rules.encoder.event_statistics.events == 0
    events: list[dict[str, object]] = [{"age": age, "country": "US" if age % 4 else "DE"} for age in range(40)]
    events += [{"tags": ["vip"], "phone": number} for number in range(10)]
    rules.encoder.event_statistics.observe(batch(rules.encoder, events))
    assert rules.encoder.event_statistics.events == 50
    assert shares(rules, "adult") == [22 / 50]
    assert shares(rules, "us") == [30 / 50]
    assert shares(rules, "vip") == [10 / 50]
    assert shares(rules, "known") == [10 / 50]


def test_an_attribute_is_known_from_its_first_rule_on(name: str) -> None:
    rules = Rules(Encoder(spaces=name))
    rules.add("old", "age >= 18")
    rules.encoder.event_statistics.observe(batch(rules.encoder, [{"age": age, "size": age} for age in range(30)]))
    assert shares(rules, "old") == [12 / 30]
    rules.add("new", "size < 5")
    assert shares(rules, "new") == [1.0]
    rules.encoder.event_statistics.observe(batch(rules.encoder, [{"age": 1, "size": size} for size in range(10)]))
    assert shares(rules, "new") == [0.5]
    assert shares(rules, "old") == [12 / 40]


def test_history_follows_compaction_and_snapshots(name: str) -> None:
    rules = Rules(Encoder(spaces=name))
    for attribute in ("a", "b", "c"):
        rules.add(attribute, f"{attribute} < 3 and d{attribute} is null and 1 in t{attribute}")
    events: list[dict[str, object]] = [{"a": value, "b": value / 2, "c": 0, "tc": [1]} for value in range(10)]
    rules.encoder.event_statistics.observe(batch(rules.encoder, events))
    known = {each: shares(rules, each) for each in ("b", "c")}
    assert known == {"b": [0.0, 0.6], "c": [1.0, 1.0]}
    rules.remove("a")
    numbers = rules.encoder.compact()
    stored = {
        each: encoded._replace(attributes=numbers[encoded.attributes]) for each, (_, encoded) in rules.stored.items()
    }
    rules.stored = {each: ([], encoded) for each, encoded in stored.items()}
    assert {each: shares(rules, each) for each in ("b", "c")} == known
    arrays = {key: np.array(array) for key, array in rules.encoder.arrays().items()}
    other = Rules(Encoder.restored(arrays, rules.encoder.header()))
    other.stored = rules.stored
    assert other.encoder.event_statistics.events == 10
    assert {each: shares(other, each) for each in ("b", "c")} == known
    old = {key: array for key, array in arrays.items() if "observed" not in key and not key.startswith("history.")}
    empty = Encoder.restored(old, rules.encoder.header())
    assert empty.event_statistics.events == 0
    assert empty.audit() == []
    assert set(empty.arrays()) == set(arrays)


def test_the_sample_is_bounded_and_fades(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for constant, value in {"MOST_A_CALL": 100, "WAITING": 50, "REMEMBERED": 400, "WELL_KNOWN": 10**6}.items():
        monkeypatch.setattr(statistics, constant, value)
    rules = Rules(Encoder(spaces=name))
    rules.add("low", "x < 500")
    rules.encoder.event_statistics.observe(batch(rules.encoder, [{"x": value} for value in range(1_000)]))
    assert rules.encoder.event_statistics.events == 100
    assert shares(rules, "low") == [0.5]
    for _ in range(40):
        rules.encoder.event_statistics.observe(batch(rules.encoder, [{"x": 1}] * 100))
    assert 200 <= rules.encoder.event_statistics.events <= 400
    assert shares(rules, "low")[0] > 0.99


def test_a_well_known_history_looks_at_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "WELL_KNOWN", 100)
    rules = Rules(Encoder())
    rules.add("low", "x < 500")
    events = batch(rules.encoder, [{"x": value} for value in range(200)])
    for _ in range(33):
        rules.encoder.event_statistics.observe(events)
    assert rules.encoder.event_statistics.events < 200 + 16 * 200 + 2 * 64


def test_waiting_events_follow_new_labels(name: str) -> None:
    rules = Rules(Encoder(spaces=name))
    rules.add("low", "x < 0")
    rules.encoder.event_statistics.observe(batch(rules.encoder, [{"x": value} for value in range(-30, 10)]))
    for value in range(1, 60):
        rules.add(str(value), f"x < {2.0**-value} or x > {3 - 2.0**-value}")
    assert rules.encoder.stats()["relabelled"] >= 1
    assert shares(rules, "low") == [pytest.approx(30 / 40)]


@pytest.mark.parametrize("damaged", [{"history.events": [-1.0]}, {"history.events": []}, {"history.beside": [1]}])
def test_a_damaged_history_is_refused(damaged: dict[str, list[float]]) -> None:
    encoder = Encoder()
    arrays = encoder.arrays()
    changed = {key: np.array(value, arrays[key].dtype) for key, value in damaged.items()}
    with pytest.raises(ValueError, match="history of events"):
        Encoder.restored({**arrays, **changed}, encoder.header())


def test_an_index_observes_what_it_matches(name: str, tmp_path: Path) -> None:
    index = mw.Index(options={"spaces": name})
    index[1] = "age >= 18"
    index.match({"age": 20})
    index.match_many([{"age": age} for age in range(9)])
    assert index.stats()["observed_events"] == 10
    index.save(tmp_path / "index")
    again = mw.open(tmp_path / "index")
    assert again.stats()["observed_events"] == 10
    again.match({"age": 3})
    assert again.stats()["observed_events"] == 11

"""The store of forms, and the engine that evaluates them one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Constraint,
    decode,
    encode,
    encode_events,
    form_is_true,
    found,
    frozen,
    random_events,
    random_form,
)

from matchwood.encoding.codes import EncodedForm
from matchwood.engines import FormScan, FormStore, Workspace
from matchwood.errors import CorruptSnapshot, InvalidArgument

SIZE = 300 if COMPILED else 40


def filled(seed: int, size: int = SIZE) -> tuple[FormStore, dict[int, EncodedForm]]:
    rng, store, forms = np.random.default_rng(seed), FormStore(), {}
    for _ in range(size):
        form = random_form(rng)
        unit, _ = store.add(form)
        forms[unit] = form
    return store, forms


def expected(forms: dict[int, EncodedForm], events: list[dict[int, int]]) -> list[set[int]]:
    return [{unit for unit, form in forms.items() if form_is_true(form, event)} for event in events]


def same_form(one: EncodedForm, other: EncodedForm) -> bool:
    arrays = zip((*one.constraints, *one[1:]), (*other.constraints, *other[1:]), strict=True)
    return all(np.array_equal(*pair) for pair in arrays)


def test_forms_come_back_as_they_went_in() -> None:
    store, forms = filled(1)
    assert all(same_form(store.form(unit), form) for unit, form in forms.items())
    assert decode(store.encoded(np.array([2], dtype=np.int32))) == decode(forms[2].constraints)
    assert store.audit() == []


def test_the_same_form_is_kept_once() -> None:
    store, forms = filled(2)
    count, uses = store.count, int(store.uses[5])
    assert store.add(forms[5]) == (5, False)
    assert (store.count, int(store.uses[5])) == (count, uses + 1)
    other = forms[5]._replace(is_and=~forms[5].is_and)
    assert store.add(other)[1] == bool((forms[5].leaf < 0).any())


def test_a_form_without_nodes_is_refused() -> None:
    none = np.empty(0, dtype=np.int32)
    with pytest.raises(InvalidArgument, match="at least one node"):
        FormStore().add(EncodedForm(encode([()]), none, none.astype(bool), np.zeros(1, dtype=np.int64), none))


def test_the_scan_of_forms_finds_what_is_true() -> None:
    rng = np.random.default_rng(3)
    store, forms = filled(4)
    engine = FormScan(store)
    engine.insert(store.live_units())
    events = random_events(rng, 40)
    wanted = expected(forms, events)
    assert 0.1 < sum(map(len, wanted)) / (len(forms) * len(events)) < 0.9
    assert found(engine, encode_events(events)) == wanted
    assert found(engine, encode_events(events), Workspace(room=1)) == wanted
    assert engine.audit() == []


def test_a_chain_of_ten_thousand_nodes_is_evaluated() -> None:
    size = 10_000 if COMPILED else 500
    leaf = [0, 1]
    form = EncodedForm(
        encode([(Constraint(0, ((1, 2),)), Constraint(1, ((1, 2),)))]),
        np.array(leaf + [-1] * size, dtype=np.int32),
        np.arange(size + 2) % 2 == 0,
        np.cumsum([0, 0, 0] + [2] * size, dtype=np.int64),
        np.stack((np.arange(1, size + 1), np.arange(size + 1 - 1) % 2), axis=1).reshape(-1).astype(np.int32),
    )
    store = FormStore()
    engine = FormScan(store)
    engine.insert(np.array([store.add(form)[0]], dtype=np.int32))
    events = [{0: 1, 1: 1}, {0: 1}, {1: 1}, {}]
    assert found(engine, encode_events(events)) == expected({0: form}, events)


def test_changes_one_by_one_and_a_restore_in_between() -> None:
    rng = np.random.default_rng(6)
    store, forms = FormStore(), {}
    engine = FormScan(store)
    events = random_events(rng, 15)
    for step in range(120 if COMPILED else 30):
        if forms and rng.random() < 0.4:
            unit = int(rng.choice(list(forms)))
            freed = store.drop(np.repeat(np.array([unit], dtype=np.int32), store.uses[unit]))
            engine.remove(freed)
            store.free(freed)
            del forms[unit]
        else:
            form = random_form(rng)
            unit, is_new = store.add(form)
            forms[unit] = form
            if is_new:
                engine.insert(np.array([unit], dtype=np.int32))
        if step % 20 == 7:
            saved_store, saved_engine = FormStore(), None
            saved_store.restore(frozen(store.arrays()), store.header())
            saved_engine = FormScan(saved_store)
            saved_engine.restore(frozen(engine.arrays()), engine.header())
            store, engine = saved_store, saved_engine
        if step % 20 == 13:
            remap = store.compact()
            engine.rebuild()
            forms = {int(remap[unit]): form for unit, form in forms.items()}
        assert store.audit() == engine.audit() == []
        assert found(engine, encode_events(events)) == expected(forms, events)


def test_relabelled_forms_are_found_by_their_new_labels() -> None:
    store, forms = filled(8)
    old, new = np.arange(64, dtype=np.int32), np.arange(64, dtype=np.int32) * 1000
    for attribute in range(12):
        store.relabel(attribute, old, new)
    engine = FormScan(store)
    engine.rebuild()
    events = random_events(np.random.default_rng(9), 20)
    scaled = [{attribute: label * 1000 for attribute, label in event.items()} for event in events]
    assert found(engine, encode_events(scaled)) == expected(forms, events)
    assert store.add(store.form(3)) == (3, False)
    assert store.audit() == []


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("children", 0, 10_000),
        ("children", 0, -1),
        ("nodes", 0, 10_000),
        ("nodes", 0, -3),
        ("node_offsets", 1, 10_000_000),
        ("child_offsets", 3, -1),
        ("offsets", 2, 10_000_000),
        ("records", 0, 2**30),
        ("alive", 0, False),
    ],
)
def test_damaged_forms_are_refused(name: str, position: int, value: int) -> None:
    store, _ = filled(10)
    arrays = {key: array.copy() for key, array in store.arrays().items()}
    arrays[name][position] = value
    again = FormStore()
    again.restore(arrays, store.header())
    with pytest.raises(CorruptSnapshot):
        again.view()


def test_audit_sees_a_form_that_is_not_indexed() -> None:
    store, _ = filled(11)
    engine = FormScan(store)
    engine.insert(store.live_units()[1:])
    assert "form 0" in engine.audit()[0]

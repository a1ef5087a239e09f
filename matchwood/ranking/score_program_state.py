"""Score programs as arrays: what is saved of them, and what is checked when they are opened.

Programs are saved by engines that need those of all rules to rank; others are written anew, rule by rule, as
rules are scored. Snapshots from before programs were saved have none, and are completed in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable, require, saved
from matchwood.encoding import Encoder, Strings, decoded, encoded
from matchwood.engines import read_only
from matchwood.ranking._score_program_kernels import survey_code

_ENCODER, _NAMES = "encoder.", "names."


class ProgramState(NamedTuple):
    """The state of score programs.

    `starts`   by row: where its program begins in `code`, -1 if there is none
    `names`    the number of each attribute's name
    `encoder`  of what programs test
    """

    starts: Growable
    code: Growable
    weights: Growable
    names: dict[str, int]
    encoder: Encoder


class Survey(NamedTuple):
    """What all programs need of the stack machine, and how many there are, dead ones included."""

    depth: int
    slots: int
    programs: int


def arrays_of(state: ProgramState) -> dict[str, NDArray[Any]]:
    """The whole state, by name; copies, since readers may write to them."""
    own = {"starts": state.starts.view(), "code": state.code.view(), "weights": state.weights.view()}
    names = {f"{_NAMES}{part}": array for part, array in encoded(list(state.names))._asdict().items()}
    coded = {f"{_ENCODER}{name}": array for name, array in state.encoder.arrays().items()}
    return {name: np.array(array) for name, array in {**own, **names, **coded}.items()}


def restored(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any], index_encoder: Encoder) -> ProgramState:
    """The state as it was saved; `surveyed` before anything runs it."""
    coded = {name.removeprefix(_ENCODER): array for name, array in arrays.items() if name.startswith(_ENCODER)}
    held = Strings(*(saved(arrays, f"{_NAMES}{part}", dtype) for part, dtype in _STRINGS.items()))
    names = decoded(held)
    require(len(set(names)) == len(names), "the names of programs are not distinct")
    starts, code, weights = (Growable(dtype, saved(arrays, name, dtype)) for name, dtype in _COLUMNS.items())
    encoder = Encoder.restored(coded, header["encoder"], index_encoder.schema)
    return ProgramState(starts, code, weights, {name: number for number, name in enumerate(names)}, encoder)


_COLUMNS: dict[str, Any] = {"starts": np.int64, "code": np.int32, "weights": np.float64}
_STRINGS: dict[str, Any] = {"offsets": np.int64, "data": np.uint8}


def surveyed(state: ProgramState, rows: int) -> Survey:
    """Refuse programs that could lead a kernel out of its arrays, or are of more rows than there are."""
    starts, code, weights = state.starts.view(), read_only(state.code.view(), np.int32), state.weights.view()
    begins = np.zeros(len(code), np.bool_)
    attributes = len(state.encoder.vocabulary.table)
    depth, slots, programs = survey_code(code, len(state.names) + 1, len(weights), attributes, begins)
    require(depth >= 0, "the program of a rule is damaged")
    inside = len(starts) <= rows and ((starts >= -1) & (starts < len(code))).all()
    require(bool(inside), "a program begins nowhere, or is of no rule")
    require(bool(begins[starts[starts >= 0]].all()), "a program begins within another")
    require(bool(np.isfinite(weights).all() and (weights >= 0).all()), "the weights of programs are no weights")
    return Survey(int(depth), int(slots), int(programs))

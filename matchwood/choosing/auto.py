"""`engine="auto"`: an engine matcher that takes another engine over its conjunctions when that should be faster.

From the rules alone, whenever they have doubled or are laid out anew anyway; and from the events, by trials beside
(`trials.py`). If several threads use the index, the choice by rules is made beside as well: it may have to compile, and
takes as long as laying all rules out, which nobody should wait for. Rules that have too many conjunctions go to the
parts beside, as clauses where those are few. It keeps no bounds for ranking.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from matchwood.choosing.choice import EngineChoice, Plan
from matchwood.choosing.features import features_of
from matchwood.choosing.model import shipped
from matchwood.choosing.trial import MOST_TURN, Trial, match_all
from matchwood.encoding import EncodedEvents, Encoder
from matchwood.engines import (
    FIRST_ENGINE,
    GROUPED,
    ATree,
    ConjunctionStore,
    Engine,
    KIndex,
    Structure,
    Workspace,
    chosen_class,
    engine_class,
    engine_names,
)
from matchwood.errors import InvalidArgument
from matchwood.language import Expression
from matchwood.logic import Bind, Clauses, Form, clauses_of_form, dnf_of
from matchwood.matching import (
    FIRST_NAMES,
    BesidePart,
    EngineMatcher,
    Group,
    MatcherPart,
    Normal,
    SampleShares,
    StorePart,
    TreePart,
)
from matchwood.rules import RuleTable

AUTO = "auto"

LEAST_UNITS = 1_000
"""Below that, any engine will do."""

GROWN = 2
"""The rules are looked at again when there are so many times more."""

LEAST_SAMPLE = 64
"""Events that a trial needs."""


def engines_for(options: Mapping[str, Any]) -> list[str]:
    """The engines that have all of these options; InvalidArgument if there is none, or if a value is wrong."""
    if not options:
        return engine_names()  # without loading them all
    known = {name: set(engine_class(name).option_names()) for name in engine_names()}
    unknown = sorted(set(options) - set().union(*known.values()))
    if unknown:
        raise InvalidArgument(f"engine 'auto' has no option {unknown[0]!r} (it has those of all engines, and no other)")
    found = [name for name, own in known.items() if set(options) <= own]
    if not found:
        raise InvalidArgument(f"no engine has all of the options {', '.join(map(repr, sorted(options)))}")
    for name in found:
        engine_class(name)._checked(options)
    return found


class AutoMatcher(EngineMatcher):
    """`choice` tells what was chosen and why; `trying` is held by the thread in which a trial is under way.

    `shared` says that several threads use the index.
    """

    def __init__(self, encoder: Encoder, table: RuleTable, options: Mapping[str, Any], dnf_limit: int) -> None:
        able = [name for name in engines_for(options) if name in engine_names("conjunctions")]
        super().__init__(FIRST_ENGINE if FIRST_ENGINE in able else able[0], encoder, table, options, dnf_limit)
        self.setting, self._options = AUTO, dict(options)
        model = shipped()
        allowed = [name for name in able if name in model.engines]
        # It has no options: whoever gives some wants an engine that has them.
        self.choice = EngineChoice(self.name, model, allowed if options else [*allowed, GROUPED])
        self.trying = threading.Lock()
        self.shared = False
        self._epoch = self._looked_at = 0
        """`_epoch` grows when units, attributes or labels get other numbers: no trial from before can be taken over."""

    # ------------------------------------------------------------------- parts

    def _made_parts(self, chosen: type[Structure], options: Mapping[str, Any]) -> tuple[MatcherPart, ...]:
        """A store that every engine over conjunctions can take; `kindex` over clauses; an A-Tree.

        A rule in CNF of a dozen clauses is one unit of `kindex`, which looks at it when one of its clauses holds, where
        its conjunctions would be thousands; the A-Tree evaluates the clauses that it shares with others.
        """
        self.table.tell_clauses_apart()
        made: Any = chosen
        conjunctions = StorePart("conjunctions", made(ConjunctionStore(), options), (list,), FIRST_NAMES)
        kindex = KIndex(ConjunctionStore(clauses=True))
        clauses = BesidePart("clauses", kindex, (Clauses,), ("forms.store", "forms.clauses"))
        return conjunctions, clauses, TreePart(ATree(), "forms.tree")

    @property
    def _conjunctions(self) -> ConjunctionStore:
        """The store of the first part."""
        store: ConjunctionStore = self.parts[0].store
        return store

    def normal(self, expression: Expression, bind: Bind | None = None) -> Normal:
        found = dnf_of(expression, bind or self.encoder.bind, self.dnf_limit)
        return clauses_of_form(found, self.dnf_limit) if isinstance(found, Form) else found

    # ---------------------------------------------------------------- by rules

    def _index(self, part: MatcherPart, added: Any, group: Group, encoded: Any) -> None:
        grown = part is self.parts[0] and len(added.new_units)
        if not (grown and self._have_doubled and not self.shared and self._adopted_by_rules()):
            super()._index(part, added, group, encoded)

    def rebuild(self) -> None:
        self._epoch += 1
        if self.shared:
            self._looked_at = 0
        elif self._conjunctions.live >= LEAST_UNITS and self._adopted_by_rules():
            self.ledger.forget_codes()
            for part in self.parts[1:]:
                part.engine.rebuild()
            return
        super().rebuild()

    @property
    def _have_doubled(self) -> bool:
        return self._conjunctions.live >= max(LEAST_UNITS, GROWN * self._looked_at)

    @property
    def choice_due(self) -> bool:
        """Whether a look at the rules was left to a thread beside, since others would wait for it."""
        return self.shared and self._have_doubled

    def _adopted_by_rules(self) -> bool:
        """Whether another engine is at work now, because of what the rules are like."""
        wanted = self.wanted_by_rules()
        if wanted is None:
            return False
        self.choice.take_by_rules(wanted)
        engine: Engine = chosen_class(wanted)(self._conjunctions, self._options)
        self._introduce(engine)
        engine.rebuild()
        self.adopt(engine)
        return True

    def wanted_by_rules(self) -> str | None:
        """The engine that should be better by the rules alone, if there is one. The caller is the only writer."""
        self._looked_at = self._conjunctions.live
        self.ledger.clock.begin_anew()
        event_statistics = self.encoder.event_statistics if self.encoder.event_statistics.events else None
        wanted = self.choice.best_by_rules(features_of(self._conjunctions, event_statistics))
        if wanted != self.name:
            return wanted
        self.choice.keep_by_rules()
        return None

    def begin_building(self, name: str) -> Trial:
        """One engine over a copy of the rules, nothing to be measured. The caller is the only writer."""
        return Trial(self._conjunctions.copy(), self.ledger.sample.frozen(), (name,), self._options, self._epoch)

    def take_built(self, trial: Trial, built: Engine | None) -> Engine | None:
        """The engine that the rules ask for, with all that came and went since. The caller is the only writer."""
        if built is None or trial.epoch != self._epoch:
            return None
        trial.catch_up(built, self._conjunctions)
        self.choice.take_by_rules(built.name)
        return built

    def adopt(self, built: Any) -> None:
        if not isinstance(built, Engine):
            super().adopt(built)
            return
        self.generation += 1
        if built.store is not self._conjunctions:
            self._conjunctions.take_over(built.store)
            built.store = self._conjunctions
        self._introduce(built)
        self.parts[0].engine = built
        self.name = built.name
        self.ledger.begin_engine()

    # --------------------------------------------------------------- by events

    @property
    def reconsider_due(self) -> bool:
        ledger = self.ledger
        return (ledger.costly or ledger.wasteful) and self._conjunctions.live >= LEAST_UNITS

    def reconsider(self) -> None:
        """Lay the present engine out anew at once; trials do the same beside."""
        super().reconsider()
        self.ledger.clock.look_later()

    @property
    def epoch(self) -> int:
        """Grows when units, attributes or labels get other numbers."""
        return self._epoch

    def plan_trial(self) -> Plan | None:
        """What to try, if that is worth its price by now. The caller is the only writer."""
        again, sample = self.ledger.watch.due, self.ledger.sample.frozen()
        self.ledger.watch.settle()
        if sample.count < LEAST_SAMPLE:
            self.ledger.clock.look_at(self.ledger.clock.seconds)
            return None
        plan = self.choice.plan(features_of(self._conjunctions, SampleShares(sample), self.ledger.clock.hits()), again)
        if plan is None:
            self.ledger.clock.look_later()
            return None
        if self.ledger.clock.seconds < plan.worth_it_at:
            self.ledger.clock.look_at(plan.worth_it_at)
            return None
        return plan

    def begin_trial(self, plan: Plan | None = None) -> Trial | None:
        """A trial of what was planned, or is now, over a copy of the rules. The caller is the only writer."""
        plan = plan or self.plan_trial()
        if plan is None:
            return None
        sample = self.ledger.sample.frozen()
        if sample.count < LEAST_SAMPLE:  # the rules were laid out anew since it was planned
            return None
        batch = self.ledger.clock.batch(MOST_TURN)
        return Trial(self._conjunctions.copy(), sample, plan.names, self._options, self._epoch, batch)

    @property
    def engine_options(self) -> Mapping[str, Any]:
        """The options that every engine is made with."""
        return self._options

    def match_now(self, trial: Trial, reading: Callable[[], Any]) -> Callable[[EncodedEvents, Workspace], None]:
        """Matching by the engine that is at work, a piece in each turn of a reader."""

        def match(events: EncodedEvents, workspace: Workspace) -> None:
            with reading():
                if trial.epoch == self._epoch:
                    match_all(self.engine)(events, workspace)

        return match

    def take_over(self, trial: Trial, best: Engine | None) -> Engine | None:
        """The engine to adopt after a trial, with all that came and went since; None to go on with the present one.

        The caller is the only writer.
        """
        self.ledger.clock.look_later()
        if trial.epoch != self._epoch:
            self.ledger.clock.begin_anew()
            return None
        if not self.choice.decide(trial, best.name if best else None) or best is None:
            return None
        trial.catch_up(best, self._conjunctions)
        self.choice.take_by_trial(trial, best.name)
        return best

    # ------------------------------------------------------------------- state

    def header(self) -> dict[str, Any]:
        return {**super().header(), "choice": {**self.choice.header(), "units": self._looked_at}}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self.choice.restore(header["choice"])
        self._looked_at = int(header["choice"]["units"])
        self.adopt(chosen_class(self.choice.engine)(self._conjunctions, self._options))
        super().restore(arrays, header)

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "choice": self.choice.as_dict()}

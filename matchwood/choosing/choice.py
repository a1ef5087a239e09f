"""Which engine to take, which ones to try, and why, in words: decided from predictions, corrected by measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matchwood.choosing.features import Features
from matchwood.choosing.model import Model
from matchwood.choosing.trial import MeasuredTrial, Trial

BETTER = 0.9
"""Another engine is taken if it needs less than this share of the time in a trial, or should by what trials have shown;
by the model alone, the model's own margins decide."""

WITHIN = 1.5
"""An engine is worth a trial if it should take less than so many times as long as the best."""

MOST_TRIED = 3

LEAST_GAIN, MOST_GAIN = 0.06, 0.5
"""The share of the time that a trial is expected to save: not nothing where the model sees no gain, since it errs; and
not more than half, so that trials never take more than half of the time that matching took before."""


UNPROVEN_GAIN = 0.25
"""The same while an engine is at work that was taken by the rules alone: how many attributes events have is not known
then, and a wrong engine would be at work until six hundredths pay for the trial."""


class Plan(NamedTuple):
    """Engines to try, the best first, the seconds that this should take, and what it may save of each second."""

    names: tuple[str, ...]
    cost: float
    gain: float

    @property
    def worth_it_at(self) -> float:
        """Seconds of matching after which a trial pays for itself, if the future is as long as the past."""
        return self.cost / self.gain


class EngineChoice:
    """The engine of one index, and what led to it."""

    def __init__(self, engine: str, model: Model, allowed: Sequence[str]) -> None:
        self._model, self._allowed = model, tuple(allowed)
        self.engine, self.source = engine, "default"
        self.why = f"{engine} is what every index starts with"
        self.changes = self.trials = 0
        self.trial_seconds = 0.0
        self.features: Features | None = None
        self.predicted: dict[str, float] = {}
        self.measured: dict[str, float] = {}
        self._corrections: dict[str, float] = {}

    def predict(self, features: Features) -> dict[str, float]:
        """Microseconds an event, of the engines that may be chosen, by the model and by what trials have shown."""
        found = self._uncorrected(features)
        self.features = features
        self.predicted = {
            name: found[name] * self._corrections.get(name, 1.0) for name in self._allowed if name in found
        }
        return self.predicted

    def _uncorrected(self, features: Features) -> dict[str, float]:
        """By the model alone; the present engine should be as slow as any if these are no longer rules for it."""
        found = self._model.predict(features)
        return {self.engine: max(found.values()), **found}

    def best_by_rules(self, features: Features) -> str:
        """The engine that should be the fastest; the present one if no other is clearly better."""
        predicted = self.predict(features)
        better = [name for name in predicted if predicted[name] < self._margin(name) * predicted[self.engine]]
        return min(better, key=lambda name: predicted[name], default=self.engine)

    def _margin(self, name: str) -> float:
        known = name in self.measured and self.engine in self.measured
        return BETTER if known else self._model.margins.get(name, 0.0)

    def take_by_rules(self, name: str) -> None:
        """Another engine is at work, because of what is known of the rules."""
        us, before = self.predicted[name], self.predicted[self.engine]
        self.why = f"{name} should take {us:.3g} µs per event, {us / before:.2f} of what {self.engine} would"
        self._take(name, "rules")

    def keep_by_rules(self) -> None:
        """The present engine should be the best, or nearly."""
        if self.source != "trial":
            self.why = f"no other engine should take clearly less than {self.engine}'s {self._own():.3g} µs per event"
            self.source = "rules"

    def _own(self) -> float:
        return self.predicted[self.engine]

    def plan(self, features: Features, again: bool) -> Plan | None:
        """What to try, if anything may be better; `again` to build the present engine anew, by what events are like."""
        predicted = self.predict(features)
        order = sorted(predicted, key=lambda name: predicted[name])
        close = [name for name in order if predicted[name] < WITHIN * predicted[order[0]]]
        names = [name for name in close if again or name != self.engine][:MOST_TRIED]
        if not names:
            return None
        matching = sum(predicted[name] for name in (*names, self.engine)) * 1e-6
        cost = sum(self._model.build_seconds(features, name) for name in names) + 1000 * matching
        gain = 1 - predicted[names[0]] / self._own()
        least = UNPROVEN_GAIN if self.changes and not self.trials else LEAST_GAIN
        return Plan(tuple(names), cost, min(MOST_GAIN, max(least, gain)))

    def decide(self, trial: Trial, best: str | None) -> bool:
        """Note what a trial has shown; whether its best engine is to be taken."""
        self.trials += 1
        self.trial_seconds += trial.seconds
        now = trial.measured.get(best) if best else None
        before = self.engine
        self.measured = {before: trial.now.us(), **{name: found.us() for name, found in trial.measured.items()}}
        self._correct(trial)
        if now is None or now.ratio(trial.now) > BETTER:
            self.why = f"{before} took {trial.now.us():.3g} µs per event in a trial, and {_others(trial.measured)}"
            self.source = "trial"
            return False
        return True

    def take_by_trial(self, trial: Trial, name: str) -> None:
        """Another engine, or the same one laid out by what events are like, is at work."""
        found, ratio = trial.measured[name].us(), trial.measured[name].ratio(trial.now)
        how = f"{name}, rebuilt," if name == self.engine else name
        self.why = f"{how} took {found:.3g} µs per event in a trial, {ratio:.2f} of what {self.engine} took before"
        self._take(name, "trial")

    def _take(self, name: str, source: str) -> None:
        self.changes += name != self.engine
        self.engine, self.source = name, source

    def _correct(self, trial: Trial) -> None:
        """Later predictions are to agree with what was measured."""
        assert self.features is not None
        raw = self._uncorrected(self.features)
        slowest = max(raw.values())
        for name, found in {self.engine: trial.now, **trial.measured}.items():
            self._corrections[name] = found.us() / max(1e-9, raw.get(name, slowest))
        typical = sorted(self._corrections.values())[len(self._corrections) // 2]
        for name in self._allowed:
            if name not in self.measured:
                self._corrections[name] = typical

    def as_dict(self) -> dict[str, Any]:
        """What `index.stats()["choice"]` shows."""
        return {
            "engine": self.engine,
            "why": self.why,
            "source": self.source,
            "changes": self.changes,
            "trials": self.trials,
            "trial_seconds": round(self.trial_seconds, 4),
            "predicted_us": {name: _short(value) for name, value in sorted(self.predicted.items())},
            "measured_us": {name: _short(value) for name, value in sorted(self.measured.items())},
            "features": {} if self.features is None else _shortened(self.features._asdict()),
        }

    def header(self) -> dict[str, Any]:
        """What is saved."""
        return {**self.as_dict(), "corrections": _shortened(self._corrections)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved choice; ValueError if it is none."""
        self.engine, self.why, self.source = str(saved["engine"]), str(saved["why"]), str(saved["source"])
        self.changes, self.trials = int(saved["changes"]), int(saved["trials"])
        self.trial_seconds = float(saved["trial_seconds"])
        self.predicted, self.measured = _floats(saved["predicted_us"]), _floats(saved["measured_us"])
        self.features = Features(**_floats(saved["features"])) if saved["features"] else None
        self._corrections = _floats(saved["corrections"])
        if self.engine not in self._allowed:
            raise ValueError(f"{self.engine!r} is not an engine that can be chosen")


def _floats(saved: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(saved[name]) for name in saved}


def _others(measured: Mapping[str, MeasuredTrial]) -> str:
    return ", ".join(f"{name} {found.us():.3g}" for name, found in measured.items()) or "no other could be built"


def _shortened(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: _short(value) for name, value in figures.items()}


def _short(value: float) -> float:
    return float(f"{value:.4g}")

"""The job a catalog is judged on: the plan, and what the script says beyond its flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from perf_doctor.launch.settings import Setting, Settings
from perf_doctor.plan.plan import Plan, build_plan
from perf_doctor.rules.functions import Value
from perf_doctor.rules.template import FlagChanges
from perf_doctor.shell.model import Place, Unknown, Word


@dataclass(frozen=True, slots=True)
class LaunchFlags:
    """The options of the launch as the functions of the rule language ask for them."""

    settings: Settings

    def value(self, flag: str) -> Value:
        """Return the value in effect, lists as tuples."""
        value = self.settings.value(flag)
        return tuple(value) if isinstance(value, list) else value

    def given(self, flag: str) -> bool:
        """Tell whether the launch passes the option."""
        return self.settings.given(flag) is not None

    def on(self, flag: str) -> bool | Unknown:
        """Tell whether the switch is on."""
        return self.settings.on(flag)


@dataclass(frozen=True, slots=True)
class Job:
    """A launch to be judged.

    ``cut`` are words that a comment or a missing backslash kept from the launch; ``unpassed``
    are arrays of flags that it never uses. ``cluster_gpus`` is None where nothing tells how large
    the cluster is. ``replan`` makes the plan of other settings of the same job; without it the
    plan is made from what this one keeps. ``known`` holds the facts that were worked out.
    """

    plan: Plan
    cut: tuple[Word, ...] = ()
    unpassed: Mapping[str, Place] = field(default_factory=dict)
    cluster_gpus: int | None = None
    replan: Callable[[Settings], Plan] | None = None
    known: dict[str, Value] = field(default_factory=dict, repr=False, compare=False)

    @property
    def settings(self) -> Settings:
        """The settings of the launch."""
        return self.plan.settings

    @property
    def environment(self) -> Mapping[str, str]:
        """What the script itself sets in the environment of the job."""
        return self.plan.environment or {}

    def changed(self, changes: FlagChanges) -> Job:
        """Return the job with these options set and removed."""
        words = {flag: None if text is True else str(text) for flag, text in changes.set.items()}
        settings = self.settings.replace(words, changes.unset)
        plan = (self.replan or self._planned_again)(settings)
        return Job(plan, self.cut, self.unpassed, self.cluster_gpus, self.replan)

    def _planned_again(self, settings: Settings) -> Plan:
        plan = self.plan
        return build_plan(
            settings,
            script=plan.script,
            environment=plan.environment,
            framework=plan.framework.name,
            gpu=None if plan.gpu.assumed else plan.gpu.label,
        )

    def overridden(self) -> tuple[tuple[Setting, Setting], ...]:
        """Return (loser, winner) of every option that is passed twice with different values."""
        return tuple(
            (loser, setting)
            for setting in self.settings
            for loser in setting.overrides[-1:]
            if loser.stored != setting.stored
        )

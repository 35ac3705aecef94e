"""The job a catalog is judged on: the plan, and what the script says beyond its flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from perf_doctor.estimate.lengths_from_plan import sample_cap
from perf_doctor.estimate.memory import MemoryEstimate, estimate_memory
from perf_doctor.estimate.time import TimeEstimate, estimate_time
from perf_doctor.estimate.time_job import Given
from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.launch.settings import Setting, Settings
from perf_doctor.plan.plan import Plan, build_plan
from perf_doctor.rules.functions import Value
from perf_doctor.rules.template import FlagChanges
from perf_doctor.shell.model import Place, Unknown, Word


@frozen
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


@frozen
class Job:
    """A launch to be judged.

    ``cut`` are words that a comment or a missing backslash kept from the launch; ``unpassed``
    are arrays of flags that it never uses. ``cluster_gpus`` is None where nothing tells how large
    the cluster is. ``replan`` makes the plan of other settings of the same job; without it the
    plan is made from what this one keeps. ``host_ram_gb`` is the memory of a node in GB (1e9), None
    where nobody told. ``lengths`` are those that the user knows. ``known`` holds the facts that
    were worked out.
    """

    plan: Plan
    cut: tuple[Word, ...] = ()
    unpassed: Mapping[str, Place] = field(default_factory=dict)
    cluster_gpus: int | None = None
    replan: Callable[[Settings], Plan] | None = None
    host_ram_gb: float | None = None
    lengths: Given = Given()
    known: dict[str, Value] = field(default_factory=dict, repr=False, compare=False)
    _memory: list[MemoryEstimate] = field(default_factory=list, repr=False, compare=False)
    _time: list[TimeEstimate] = field(default_factory=list, repr=False, compare=False)

    @property
    def settings(self) -> Settings:
        """The settings of the launch."""
        return self.plan.settings

    @property
    def environment(self) -> Mapping[str, str]:
        """What the script itself sets in the environment of the job."""
        return self.plan.environment or {}

    @property
    def memory(self) -> MemoryEstimate:
        """The memory of the job, estimated when it is first asked for."""
        if not self._memory:
            self._memory.append(_estimated(self.plan, self.host_ram_gb))
        return self._memory[0]

    @property
    def time(self) -> TimeEstimate:
        """The seconds of a step, estimated when they are first asked for.

        An estimate that fails costs nobody the rest of the report.
        """
        if not self._time:
            try:
                found = estimate_time(self.plan, self.memory, lengths=self.lengths)
            except Exception as error:
                found = TimeEstimate(unknown=estimate_failed(error))
            self._time.append(found)
        return self._time[0]

    def changed(self, changes: FlagChanges) -> Job:
        """Return the job with these options set and removed."""
        words = {flag: None if text is True else str(text) for flag, text in changes.set.items()}
        return self.with_settings(self.settings.replace(words, changes.unset))

    def with_settings(self, settings: Settings) -> Job:
        """Return the job with other settings."""
        plan = (self.replan or self._planned_again)(settings)
        lengths = self.lengths
        if plan.mode == "sft":  # other flags do not change the data
            lengths = lengths._replace(sample_cap=sample_cap(self.plan, lengths))
        return replace(self, plan=plan, lengths=lengths, known={}, _memory=[], _time=[])

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


Getter = Callable[[Job], Value]
"""What gives a fact its value."""


def _estimated(plan: Plan, host_ram_gb: float | None) -> MemoryEstimate:
    """Return the estimate; one that fails costs nobody the rest of the report."""
    try:
        return estimate_memory(plan, host_ram_gb=host_ram_gb)
    except Exception as error:
        return MemoryEstimate(capacity_gib=plan.gpu.usable_gib, unknown=estimate_failed(error))


def estimate_failed(error: Exception) -> str:
    """Return why there is no estimate, where making it raised this."""
    return said("the estimate failed ({error})", error=type(error).__name__)

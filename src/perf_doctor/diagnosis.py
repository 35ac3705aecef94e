"""One script, diagnosed: read, planned, judged. The library's way in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from perf_doctor.estimate.memory import MemoryEstimate
from perf_doctor.estimate.time import TimeEstimate
from perf_doctor.estimate.time_job import Given
from perf_doctor.frozen import frozen
from perf_doctor.inert import inert
from perf_doctor.language import said
from perf_doctor.launch.comments import contradictions
from perf_doctor.launch.environment import job_environment
from perf_doctor.launch.secrets import Redactor
from perf_doctor.launch.settings import read_settings
from perf_doctor.launch.trainer import Trainer, find_program, read_trainer
from perf_doctor.plan.naming import disagreements
from perf_doctor.plan.plan import Plan, build_plan
from perf_doctor.rules.accepted import Accepted
from perf_doctor.rules.job import Job
from perf_doctor.rules.judge import judge, one_for_each_problem
from perf_doctor.rules.judgement import Finding, Judgement
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import Catalog
from perf_doctor.rules.overridden import overridden
from perf_doctor.rules.ranking import findings
from perf_doctor.rules.remarks import Remarks, baselines_of, compared
from perf_doctor.shell.files import Files, Library, read_text, tree_root
from perf_doctor.shell.limits import ScriptError
from perf_doctor.shell.model import Command, Note, Place, Run, Script
from perf_doctor.shell.reader import STDIN_NAME, Surroundings, read_script
from perf_doctor.wording import counted

if TYPE_CHECKING:  # their page is read only for a job with findings
    from perf_doctor.rules.baselines import Baseline

MAX_LAUNCHES: Final = 8
"""A script with more launches than this is generated, or hostile; the first ones are diagnosed."""


class NoLaunchError(ScriptError):
    """The script was read and starts no training; the message says what was looked for."""


@frozen
class Options:
    """What the user says beside the script.

    ``gpu`` is a card's name, perhaps with its memory. ``environment`` and ``arguments`` are what
    the script is started with. ``model_config_dir`` is the default of MODEL_CONFIG_DIR.
    ``host_ram_gb`` is the memory of a node in GB (1e9 bytes). ``mean_response_len`` and
    ``prompt_len`` are tokens, ``response_len_sigma`` is the spread of the logarithm of the length.
    ``rule_files`` are catalogs beside the built-in one; of all rules those are in force whose id
    begins with one of ``select`` (all, when that is empty) and with none of ``ignore``.
    ``severities`` says by a rule's id how severe its findings are. ``baseline_files`` are pages of
    known-good configurations beside the built-in one. ``network_gb_s`` are GB/s (1e9 bytes) of one
    GPU to other nodes in one direction. ``accepted`` are findings that the project lives with. With
    ``untrusted`` nothing is followed that the script's comments say for it, neither reasons nor
    directives. No file is opened outside the folders ``within``, where any are given.
    """

    gpu: str | None = None
    gpus_per_node: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    model_config_dir: str | None = None
    host_ram_gb: float | None = None
    mean_response_len: float | None = None
    response_len_sigma: float | None = None
    prompt_len: float | None = None
    rule_files: Sequence[str] = ()
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    severities: Mapping[str, str] = field(default_factory=dict)
    baseline_files: Sequence[str] = ()
    network_gb_s: float | None = None
    untrusted: bool = False
    accepted: Accepted | None = None
    within: Sequence[str] = ()


@frozen
class Diagnosis:
    """Everything that is known about one launch of a script.

    ``job`` is what the rules were asked about. ``condition`` is None for the launch that bash
    reaches by default; ``variants`` holds the other launches of the script, each with its
    condition. ``notes`` tell how the script was read. ``redactor`` must see every text of the
    script before it is printed. ``texts`` holds the text of each file that was read, by its name in
    places. ``judge`` judges this launch with other settings as it was judged. ``way`` is the
    part of the condition that tells a way through the script, and not which of its launches.
    """

    script: str
    condition: str | None
    trainer: Trainer
    plan: Plan
    job: Job
    judgements: tuple[Judgement, ...]
    notes: tuple[Note, ...]
    redactor: Redactor
    texts: Mapping[str, str] = field(repr=False, compare=False)
    judge: Callable[[Job], tuple[Judgement, ...]] = field(repr=False, compare=False)
    variants: tuple[Diagnosis, ...] = ()
    way: str | None = None

    @property
    def memory(self) -> MemoryEstimate:
        """The estimate of GPU and host memory."""
        return self.job.memory

    @property
    def time(self) -> TimeEstimate:
        """The estimate of a step's seconds."""
        return self.job.time

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, the worst first."""
        return findings(j for j in self.judgements if j.verdict != "suppressed")

    @property
    def suppressed(self) -> tuple[Finding, ...]:
        """What a directive in the script takes out of the report."""
        return findings(j for j in self.judgements if j.verdict == "suppressed")

    def count(self, severity: str) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


class Doctor:
    """Diagnoses scripts: the catalog is read once, shared files are parsed once."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self._library = Library()
        self._catalog: Catalog | None = None
        self._baselines: Sequence[Baseline] = ()

    @property
    def catalog(self) -> Catalog:
        """The rules in force, read once, and the user's known-good configurations with them.

        Raises ``CatalogError`` for broken rules, ``ScriptError`` for a file that cannot be read or
        a selection that names no rule.
        """
        if self._catalog is None:
            options = self.options
            self._baselines = baselines_of(options.baseline_files)
            self._catalog = load_rules(options.rule_files, options.select, options.ignore)
        return self._catalog

    def diagnose(self, path: str, text: bytes | None = None) -> Diagnosis:
        """Return the diagnosis; ``text`` stands for a script on standard input.

        Raises ``ScriptError`` for a script that cannot be read, ``NoLaunchError`` for one that
        starts no training, and ``UnknownGpuError``; each message is one line.
        """
        script = read_script(
            path, self._surroundings(path), find_program, text=text, library=self._library
        )
        launches = [
            (condition, run, command)
            for run in script.runs
            for condition, command in _launches(run)
        ]
        if not launches:
            raise NoLaunchError(_no_launch(script))
        first, *others = (self._launch(script, *launch) for launch in launches[:MAX_LAUNCHES])
        left_out = len(launches) - MAX_LAUNCHES
        if left_out > 0:
            more = counted(left_out, "further launch")
            note = Note(said("the script holds {launches}, left out here", launches=more))
            first = replace(first, notes=(*first.notes, note))
        return replace(first, variants=tuple(others))

    def _surroundings(self, path: str) -> Surroundings:
        given = self.options.model_config_dir
        root = os.getcwd() if path == STDIN_NAME else tree_root(path)
        folder = os.path.abspath(given) if given else f"{root}/scripts/models"
        return Surroundings(
            environment=self.options.environment,
            arguments=self.options.arguments,
            defaults={"MODEL_CONFIG_DIR": folder},
            folders=(folder,) if given else (),
            within=self.options.within,
        )

    def _launch(
        self, script: Script, condition: str | None, run: Run, command: Command
    ) -> Diagnosis:
        options = self.options
        trainer = read_trainer(command)
        environment = job_environment(command, trainer)
        settings = read_settings(trainer.argv)
        planned = partial(
            build_plan,
            script=script.path,
            files=script.files,
            environment=environment,
            framework=trainer.framework,
            gpu=options.gpu,
            gpus_per_node=options.gpus_per_node,
            network_gb_s=options.network_gb_s,
            read_file=partial(_read_file, within=options.within),
        )
        plan = planned(settings)
        job = Job(
            plan=plan,
            cut=command.cut,
            unpassed=_unpassed(run),
            replan=planned,
            host_ram_gb=options.host_ram_gb,
            lengths=Given(
                options.mean_response_len,
                options.response_len_sigma,
                options.prompt_len,
            ),
        )
        remarks = Remarks(trainer.argv, script.comments)

        def judged(job: Job) -> tuple[Judgement, ...]:
            judged = judge(self.catalog, job)
            told = compared(overridden(judged, options.severities), job.plan, self._baselines)
            heard = told if options.untrusted else remarks.heed(told)
            if options.accepted is not None:
                heard = options.accepted.heed(heard, script.path)
            return one_for_each_problem(self.catalog, heard)

        judgements = judged(job)
        remarked = (
            *map(Note, disagreements(plan, script.path, script.header)),
            *contradictions(settings),
            *(() if options.untrusted else remarks.notes()),
        )
        return Diagnosis(
            script=script.path,
            condition=condition,
            way=run.condition,
            trainer=trainer,
            plan=plan,
            job=job,
            judgements=judgements,
            notes=(*run.notes, *remarked),
            redactor=Redactor(
                [word.text for word in trainer.argv],
                {**script.variables, **environment, **options.environment},
            ),
            texts=script.texts,
            judge=judged,
        )


def diagnose(  # noqa: PLR0913 - every argument but the path is by name
    path: str | os.PathLike[str],
    *,
    gpu: str | None = None,
    gpus_per_node: int | None = None,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    model_config_dir: str | None = None,
    host_ram_gb: float | None = None,
) -> Diagnosis:
    """Return the diagnosis of a launch script, which is read and never run.

    ``gpu`` is a card's name, perhaps with its memory (``H20-141GB``); ``environment`` and
    ``arguments`` are what the script would be started with; ``host_ram_gb`` is the memory of a node
    in GB. Raises ``ScriptError`` with a message of one line when the script cannot be read or
    starts no training.
    """
    options = Options(
        gpu, gpus_per_node, environment or {}, arguments, model_config_dir, host_ram_gb
    )
    return Doctor(options).diagnose(os.fspath(path))


def _launches(run: Run) -> Iterator[tuple[str | None, Command]]:
    """Yield the trainings of one way through the script with their conditions.

    A program that is no known trainer counts only where there is no other.
    """
    known = [c for c in run.launches if read_trainer(c).framework != "other"]
    for index, command in enumerate(known or run.launches):
        place = said("launch at line {line}", line=command.place.line)
        if index == 0:
            yield run.condition, command
        else:
            yield (f"{run.condition}, {place}" if run.condition else place), command


def _no_launch(script: Script) -> str:
    why = "".join(f"; {inert(str(note))}" for note in script.runs[0].notes[:2])
    looked_for = said(
        "no launch found: looked for `ray job submit … -- python …` and for a direct start of"
        " relax.entrypoints.train, train.py or train_async.py"
    )
    return f"{looked_for}{why}"


def _unpassed(run: Run) -> dict[str, Place]:
    """Return the arrays of flags that no launch passes, with their places."""
    passed = {word.group for launch in run.launches for word in launch.words}
    return {name: place for name, place in run.arrays.items() if name not in passed}


def _read_file(path: str, *, within: Sequence[str] = ()) -> bytes | None:
    """Return the bytes of a small regular file, None when there is none that may be read."""
    try:
        allowed = Files(tuple(within), Library()).resolve(path) if within else path
        return None if allowed is None else read_text(allowed).encode()
    except (ScriptError, ValueError):
        return None

"""The plan of a job: everything a launch decides, derived once and never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from perf_doctor.frozen import frozen
from perf_doctor.launch.settings import Settings
from perf_doctor.plan.accelerator import accelerator, accelerator_evidence
from perf_doctor.plan.assumptions import make_assumptions
from perf_doctor.plan.batch import Batch, read_batch
from perf_doctor.plan.cluster import Cluster, read_cluster
from perf_doctor.plan.engines import Engines, read_engines, read_genrm, read_teacher
from perf_doctor.plan.gpu import Gpu, assumed_gpu, find_gpu
from perf_doctor.plan.known_models import ReadFile
from perf_doctor.plan.lengths import Lengths, read_lengths
from perf_doctor.plan.modality import Modality, read_modality
from perf_doctor.plan.model import Model, read_model
from perf_doctor.plan.parallel import Parallel, read_parallel
from perf_doctor.plan.pipeline import Pipeline, read_pipeline
from perf_doctor.plan.problems import Problem, find_problems
from perf_doctor.plan.reading import whole
from perf_doctor.plan.roles import Mode, Roles, read_roles
from perf_doctor.plan.training import Training, read_training

RELAX_VERSION = "13cc7ca (2026-07)"


@frozen
class Framework:
    """The program that takes the words; ``version`` is the one whose rules are applied."""

    name: str
    version: str | None
    assumed: bool = True


@frozen
class Plan:
    """The job of one launch; everywhere inside, None means not known unless a field says more.

    ``settings`` are the words it was made from, for any flag that has no field of its own.
    ``engines``, ``genrm`` and ``teacher`` are None when the job starts none. ``environment`` is
    that of the job, None when nobody told. ``problems``: what was written so that nothing can
    be made of it. ``assumptions``: what the script does not say, one sentence each.
    """

    settings: Settings
    script: str
    framework: Framework
    environment: Mapping[str, str] | None
    gpu: Gpu
    accelerator_evidence: tuple[str, ...]
    model: Model
    modality: Modality | None
    roles: Roles
    cluster: Cluster
    parallel: Parallel
    pipeline: Pipeline
    batch: Batch
    lengths: Lengths
    training: Training
    engines: Engines | None
    genrm: Engines | None
    teacher: Engines | None
    problems: tuple[Problem, ...]
    assumptions: tuple[str, ...]

    @property
    def padded_vocab_size(self) -> int | None:
        """The vocabulary as Megatron pads it: to a multiple of TP × its divisor."""
        model, tp = self.model.architecture, self.parallel.mesh.tp
        divisor = whole(self.settings, "--make-vocab-size-divisible-by")
        vocab = None if model is None else model.vocab_size
        if vocab is None or tp is None or divisor is None:
            return None
        return -(-vocab // (divisor * tp)) * divisor * tp

    @property
    def mode(self) -> Mode | None:
        """How the roles share the GPUs."""
        return self.roles.mode

    @property
    def task(self) -> Literal["rl", "sft"] | None:
        """Reinforcement learning or supervised fine-tuning."""
        if self.roles.mode is None:
            return None
        return "sft" if self.roles.mode == "sft" else "rl"


def build_plan(  # noqa: PLR0913  a launch in its parts, so that nobody needs a whole one
    settings: Settings,
    *,
    script: str = "",
    files: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    environment_complete: bool = True,
    framework: str = "relax",
    gpu: str | None = None,
    gpus_per_node: int | None = None,
    network_gb_s: float | None = None,
    read_file: ReadFile | None = None,
) -> Plan:
    """Return the plan of the job.

    ``script`` is the script's path and ``files`` what it sources, for the names in them;
    ``environment`` what it exports and hands to Ray, ``environment_complete`` whether that is
    all (a runtime environment may be unreadable). ``gpu`` names the card and ``gpus_per_node``
    the machines; without them the usual ones are assumed, and so is the card's usual network,
    unless ``network_gb_s`` has the GB/s of one GPU to other nodes in one direction.
    ``read_file`` gives the bytes of a small regular file or None; without it no file is looked at.
    Raises UnknownGpuError.
    """
    evidence = accelerator_evidence(settings, script=script, files=files, environment=environment)
    card = find_gpu(gpu) if gpu else assumed_gpu(accelerator(evidence))
    if network_gb_s is not None:
        card = replace(card, network_gb_s=network_gb_s)
    roles = read_roles(settings)
    per_node = gpus_per_node or _node_of(settings, card)
    cluster = read_cluster(settings, roles, per_node)
    parallel = read_parallel(settings, roles, cluster)
    model = read_model(settings, script=script, files=files, read_file=read_file)
    layers = model.architecture.layers if model.architecture else None
    plan = Plan(
        settings=settings,
        script=script,
        framework=Framework(framework, RELAX_VERSION if framework == "relax" else None),
        environment=environment,
        gpu=card,
        accelerator_evidence=tuple(
            dict.fromkeys(said for kind, said in evidence if kind == card.accelerator)
        ),
        model=model,
        modality=read_modality(settings),
        roles=roles,
        cluster=cluster,
        parallel=parallel,
        pipeline=read_pipeline(settings, layers, parallel.mesh.pp),
        batch=read_batch(settings, roles, parallel),
        lengths=read_lengths(settings),
        training=read_training(
            settings, roles, environment, environment_complete=environment_complete
        ),
        engines=read_engines(settings, roles, cluster),
        genrm=read_genrm(settings, roles, cluster),
        teacher=read_teacher(settings, roles, cluster),
        problems=find_problems(settings, framework),
        assumptions=(),
    )
    stated = make_assumptions(plan, gpus_per_node_given=gpus_per_node is not None)
    return replace(plan, assumptions=stated)


def _node_of(settings: Settings, card: Gpu) -> int | None:
    """GPUs per machine of a card that somebody named, unless the launch has its own word."""
    if card.assumed or settings.given("--num-gpus-per-node"):
        return None
    return card.gpus_per_node

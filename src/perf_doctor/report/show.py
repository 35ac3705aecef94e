"""``perf-doctor show``: every resolved setting, its value, and where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perf_doctor.diagnosis import Diagnosis
from perf_doctor.estimate.memory import verdict_line
from perf_doctor.inert import inert, shortened
from perf_doctor.language import said
from perf_doctor.launch.settings import Setting
from perf_doctor.plan.plan import Plan
from perf_doctor.report.context import context_line, shown
from perf_doctor.shell.model import Word
from perf_doctor.wording import counted


def show_report(diagnosis: Diagnosis) -> str:
    """Return what the launch resolves to, one line for each setting and derived size."""
    trainer = diagnosis.trainer
    lines = [
        inert(diagnosis.script),
        context_line(diagnosis.plan),
        said(
            "runs {program} with {n} words",
            program=inert(" ".join(trainer.program)),
            n=len(trainer.argv),
        ),
        inert(verdict_line(diagnosis.memory)),
        "",
        said("derived"),
        *_table(_derived(diagnosis.plan)),
        "",
        said("settings"),
        *_table(_settings(diagnosis)),
    ]
    if unknown := diagnosis.plan.settings.unknown_flags:
        lines += ["", said("flags no parser knows")]
        lines += _table((flag.flag, _origin(flag.word)) for flag in unknown)
    if diagnosis.plan.assumptions:
        lines += ["", said("assumed")]
        lines += [f"  {inert(sentence)}" for sentence in diagnosis.plan.assumptions]
    for variant in diagnosis.variants:
        condition = inert(variant.condition or "")
        lines += ["", said("other launch ({condition})", condition=condition)]
        lines.append(f"  {context_line(variant.plan)}")
    return diagnosis.redactor.redact("\n".join(lines)) + "\n"


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"  {inert(left)} ← {inert(right)}" for left, right in rows)


def _settings(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    settings = diagnosis.plan.settings
    for setting in settings:
        if settings.given(setting.flag) is setting:
            yield _written(setting, diagnosis), _provenance(setting, diagnosis)


def _written(setting: Setting, diagnosis: Diagnosis) -> str:
    words = diagnosis.redactor.redact_words(word.text for word in setting.words)
    return shortened(" ".join(words))


def _provenance(setting: Setting, diagnosis: Diagnosis) -> str:
    told = [_origin(setting.words[0])]
    names = dict.fromkeys(name for word in setting.words for name in word.overridable_by)
    if names:
        shown_names = ", ".join(f"${name}" for name in names)
        told.append(said("default of {variables}", variables=shown_names))
    unknown = dict.fromkeys(part.reason for word in setting.words for part in word.unknown)
    told.extend(unknown)
    told.extend(
        said(
            "overrides {setting} at {place}",
            setting=_written(earlier, diagnosis),
            place=_origin(earlier.words[0]),
        )
        for earlier in setting.overrides
    )
    return "; ".join(told)


def _origin(word: Word) -> str:
    place = f"{word.place.file}:{word.place.line}"
    return f"{word.group}, {place}" if word.group else said("command line, {place}", place=place)


def _derived(plan: Plan) -> Iterator[tuple[str, str]]:
    mesh, batch, roles, settings = plan.parallel.mesh, plan.batch, plan.roles, plan.settings
    given_roles = ", ".join(f"{role} {shown(n)}" for role, n in (roles.gpus or {}).items())
    yield said("mode {mode}", mode=plan.mode or "?"), _mode_source(plan)
    yield (
        said("roles {roles}", roles=given_roles or "?"),
        said("--resource and the roles of the mode"),
    )
    if roles.unused:
        yield (
            said("unused roles {roles}", roles=", ".join(roles.unused)),
            said("reserved by --resource, never started"),
        )
    yield said("world size {n}", n=shown(plan.cluster.world_size)), said("GPUs of the actor")
    yield f"DP {shown(mesh.dp)}", said("world size ÷ (TP × CP × PP)")
    if plan.model.kind == "moe":
        given = settings.given("--expert-tensor-parallel-size") is not None
        source = said("as given") if given else said("Megatron: follows TP when unset")
        yield f"ETP {shown(mesh.etp)}", source
        yield said("expert DP {n}", n=shown(mesh.edp)), said("world size ÷ (ETP × EP × PP)")
    if plan.mode != "sft":
        yield (
            said("samples per rollout {n}", n=shown(batch.samples_per_rollout)),
            said("rollout batch × samples per prompt"),
        )
    yield (
        said("optimizer steps per rollout {n}", n=shown(batch.optimizer_steps_per_rollout)),
        said("samples per rollout ÷ global batch"),
    )
    yield (
        said("token budget of a micro-batch {n}", n=shown(batch.token_budget)),
        "--max-tokens-per-gpu × CP",
    )
    if plan.engines is not None:
        engines, gpus = plan.engines, _gpus(plan.engines.gpus_per_engine)
        yield (
            said("engines {n} × {gpus}", n=shown(engines.engines), gpus=gpus),
            said("rollout GPUs ÷ --rollout-num-gpus-per-engine"),
        )


def _gpus(number: int | None) -> str:
    return said("? GPUs") if number is None else counted(number, "GPU")


def _mode_source(plan: Plan) -> str:
    flags = ("--loss-type", "--hybrid", "--fully-async", "--colocate")
    given = [setting for flag in flags if (setting := plan.settings.given(flag))]
    return ", ".join(setting.flag for setting in given) or said(
        "neither colocate nor async is asked for"
    )

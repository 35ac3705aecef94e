"""The tools a client may call. Each reads what it is asked about and changes nothing.

Text is for the agent, in few words; the structured answer is the same for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Annotated, Final, Literal

from mcp.server.mcpserver import Context, ListRoots, Resolve
from mcp_types import CallToolResult, ListRootsResult, TextContent
from pydantic import Field

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.explore.asked import ChangeError, read_changes
from perf_doctor.explore.compare import compare
from perf_doctor.explore.what_if import what_if
from perf_doctor.mcp.answers import compared, diagnosed, estimated, explained, told_notes, tried
from perf_doctor.mcp.fence import bounded, data_block, harmless
from perf_doctor.mcp.inputs import Changes, Detail, Job, RuleId, Script, Scripts
from perf_doctor.mcp.outputs import (
    Answer,
    Compared,
    Diagnoses,
    Estimates,
    Explained,
    RuleHead,
    Rules,
    Tried,
)
from perf_doctor.mcp.reading import CallError, Catalogs, doctor_for, read_all, read_one
from perf_doctor.mcp.roots import Roots, folder_of, working_folder
from perf_doctor.report.agent import MAX_FINDINGS, render
from perf_doctor.report.compare import compare_json, compare_report
from perf_doctor.report.estimates import estimate_report
from perf_doctor.report.experiment import experiment_lines
from perf_doctor.report.fence import data
from perf_doctor.report.formats import Report
from perf_doctor.report.plain import plain
from perf_doctor.report.what_if import what_if_json, what_if_report
from perf_doctor.rules.explain import explain
from perf_doctor.rules.load import load_rules, page_of
from perf_doctor.rules.model import Rule
from perf_doctor.rules.reference import find_rule, list_lines, section

_COMMANDS: Final = ("more: ", "next: ")
"""Lines of the agents' report that name a command of the shell."""
_SERIES: Final = Field(description="C starts, M memory, P step time, S engines; all without it")


def client_roots(context: Context) -> ListRoots | None:
    """Ask the client for its roots, if it has any; in the way its revision of the protocol has."""
    capabilities = context.client_capabilities
    return ListRoots() if capabilities is not None and capabilities.roots is not None else None


Offered = Annotated[ListRootsResult | None, Resolve(client_roots)]


class Tools:
    """The tools, with what the server was started with.

    ``folders`` may always be read; without any, and without roots of the client, that is the
    working folder. One call is worked on at a time.
    """

    def __init__(self, folders: tuple[str, ...], catalogs: Catalogs) -> None:
        self._folders = folders
        self._catalogs = catalogs
        self._one_at_a_time = Lock()

    @property
    def all(self) -> tuple[Callable[..., CallToolResult], ...]:
        """Every tool; its name and its sentence are those of the method."""
        return (
            self.diagnose,
            self.estimate,
            self.what_if,
            self.compare,
            self.explain,
            self.rules,
        )

    def diagnose(
        self,
        scripts: Scripts,
        offered: Offered,
        job: Job | None = None,
        detail: Detail = "brief",
    ) -> Annotated[CallToolResult, Diagnoses]:
        """Diagnose Relax launch scripts without running them: what is wrong, its cost, its fix."""
        full = _is_full(detail, scripts)
        with self._one_at_a_time:
            doctor, roots = self._opened(offered, job)
            read = read_all(doctor, scripts, roots)
            full = full and _only(read.diagnoses)
            parts = [_diagnosis_text(one, full=full) for one in read.diagnoses]
            reports = [diagnosed(one, full=full) for one in read.diagnoses]
        text = "\n".join(parts) + _not_read(read.not_read)
        return _answer(text, Diagnoses(reports=reports, not_read=list(read.not_read)))

    def estimate(
        self,
        scripts: Scripts,
        offered: Offered,
        job: Job | None = None,
        detail: Detail = "brief",
    ) -> Annotated[CallToolResult, Estimates]:
        """Estimate GPU memory (GiB) and step time (s) of launch scripts by phase; does it fit?

        Full: every figure with its formula.
        """
        full = _is_full(detail, scripts)
        with self._one_at_a_time:
            doctor, roots = self._opened(offered, job)
            read = read_all(doctor, scripts, roots)
            full = full and _only(read.diagnoses)
            parts = [data_block(estimate_report(one, explained=full)) for one in read.diagnoses]
            reports = [estimated(one, full=full) for one in read.diagnoses]
        text = "\n".join(parts) + _not_read(read.not_read)
        return _answer(text, Estimates(reports=reports, not_read=list(read.not_read)))

    def what_if(
        self,
        script: Script,
        offered: Offered,
        set: Annotated[
            Changes, Field(description="flags to set: '--context-parallel-size 2', '--colocate'")
        ] = [],  # noqa: B006 - read, never changed
        unset: Annotated[Changes, Field(description="flags to remove")] = [],  # noqa: B006
        job: Job | None = None,
        detail: Detail = "brief",
    ) -> Annotated[CallToolResult, Tried]:
        """Estimate and judge a launch with some flags changed, beside it as it is.

        Nothing is edited.
        """
        with self._one_at_a_time:
            doctor, roots = self._opened(offered, job)
            diagnosis = read_one(doctor, script, roots)
            try:
                asked = read_changes(set, unset, diagnosis.job.settings)
            except ChangeError as error:
                raise CallError(data(diagnosis.redactor.redact(str(error)))) from None
            found = what_if(diagnosis, asked)
            text = data_block(what_if_report(found))
            return _answer(text, tried(what_if_json(found), full=detail == "full"))

    def compare(
        self,
        a: Script,
        b: Script,
        offered: Offered,
        job: Job | None = None,
        detail: Detail = "brief",
    ) -> Annotated[CallToolResult, Compared]:
        """Compare two launch scripts: the settings that differ and what each of them is worth."""
        with self._one_at_a_time:
            doctor, roots = self._opened(offered, job)
            both = read_one(doctor, a, roots), read_one(doctor, b, roots)
            found = compare(*both, doctor.catalog.rules)
            text = data_block(compare_report(found))
            return _answer(text, compared(compare_json(found), full=detail == "full"))

    def explain(
        self,
        rule: RuleId,
        script: Script,
        offered: Offered,
        job: Job | None = None,
        detail: Detail = "brief",
    ) -> Annotated[CallToolResult, Explained]:
        """Explain how a rule is judged on a script: its condition with the script's values.

        Full: its fix tried, both jobs side by side.
        """
        with self._one_at_a_time:
            doctor, roots = self._opened(offered, job)
            wanted = find_rule(rule, doctor.catalog.rules)
            diagnosis = read_one(doctor, script, roots)
            judgement = next(one for one in diagnosis.judgements if one.rule == wanted.id)
            lines = [*explain(wanted, diagnosis.job, judgement)]
            if detail == "full":
                lines += experiment_lines(judgement)
            text = data_block("\n".join(_inert_lines(diagnosis, lines)))
            return _answer(text, explained(diagnosis, wanted, judgement))

    def rules(
        self,
        rule: RuleId | None = None,
        series: Annotated[Literal["C", "M", "P", "S"] | None, _SERIES] = None,
    ) -> Annotated[CallToolResult, Rules]:
        """List the rules, those of a series, or show one rule as it is written."""
        catalog = self._catalogs
        with self._one_at_a_time:
            known = load_rules(catalog.rule_files, catalog.select, catalog.ignore).rules
            if rule is not None:
                wanted = find_rule(rule, known)
                text = data_block("\n".join(_inert_lines(None, _written(wanted).splitlines())))
                return _answer(text, Rules(rules=[_head(wanted)], text=text))
            chosen = [one for one in known if series is None or one.id[2] == series]
            listed = data_block("\n".join(_inert_lines(None, _split(list_lines(chosen)))))
            return _answer(listed, Rules(rules=[_head(one) for one in chosen]))

    def _opened(self, offered: ListRootsResult | None, job: Job | None) -> tuple[Doctor, Roots]:
        """Return the doctor for one call, and where it may read."""
        roots = self._roots(offered)
        return doctor_for(job or Job(), self._catalogs, roots), roots

    def _roots(self, offered: ListRootsResult | None) -> Roots:
        """Return what may be read: the client's roots, and what the server was started with."""
        own = self._folders
        if offered is None or not offered.roots:
            return Roots(own or working_folder())
        theirs = (folder_of(str(root.uri)) for root in offered.roots)
        return Roots((*(folder for folder in theirs if folder is not None), *own))


def _is_full(detail: str, scripts: list[str]) -> bool:
    if detail == "full" and len(scripts) > 1:
        raise CallError("detail full takes one script; brief takes several")
    return detail == "full"


def _only(diagnoses: tuple[Diagnosis, ...]) -> bool:
    if len(diagnoses) > 1:
        raise CallError("detail full takes one script, and the folder holds several; name one")
    return True


def _diagnosis_text(diagnosis: Diagnosis, *, full: bool) -> str:
    """Return the report for agents with tools in place of commands, and the notes.

    Full: also when a finding is to be left alone.
    """
    report = render(Report((diagnosis,), everything=full)).splitlines()
    lines = [line for line in report if not line.startswith(_COMMANDS)]
    found = diagnosis.findings
    if not full and len(found) > MAX_FINDINGS:
        lines.append(f"more: {len(found) - MAX_FINDINGS} findings; diagnose with detail full")
    if full:
        lines += (f"skip {one.rule} if: {plain(diagnosis, one.skip_if)}" for one in found)
    elif found:
        lines.append(f"next: explain {found[0].rule}, or what_if with its fix")
    lines += (f"note: {data(note)}" for note in told_notes(diagnosis, full=full))
    return "".join(f"{line}\n" for line in lines)


def _not_read(lines: Iterable[str]) -> str:
    return "".join(f"not read: {line}\n" for line in lines)


def _inert_lines(diagnosis: Diagnosis | None, lines: Iterable[str]) -> list[str]:
    """Return lines without secrets, each of them one line."""
    split = _split(lines)
    if diagnosis is None:
        return [str(harmless(line)) for line in split]
    return [str(harmless(diagnosis.redactor.redact(line))) for line in split]


def _split(lines: Iterable[str]) -> list[str]:
    return [part for line in lines for part in line.split("\n")]


def _written(rule: Rule) -> str:
    return section(rule, page_of(rule))


def _head(rule: Rule) -> RuleHead:
    return RuleHead(
        id=rule.id,
        title=str(harmless(rule.title)),
        severity="→".join(dict.fromkeys(rule.severity)),
        needs_judgement=not rule.cases,
    )


def _answer(text: str, structured: Answer) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=bounded(text))],
        structured_content=structured.model_dump(mode="json", exclude_defaults=True),
    )

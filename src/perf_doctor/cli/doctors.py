"""Which doctor sees a script: one for each configuration that the scripts of a run have."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from perf_doctor.cli.output import complain
from perf_doctor.configuration.find import Configuration, find, read
from perf_doctor.configuration.ids import check_ids, ignored_in
from perf_doctor.configuration.merge import Chosen, merged
from perf_doctor.diagnosis import Doctor, Options
from perf_doctor.rules.accepted import Accepted, read_accepted
from perf_doctor.rules.load import load_rules
from perf_doctor.rules.model import CatalogError
from perf_doctor.shell.limits import ScriptError

_QUIETER: Final = ("select", "ignore", "per-file-ignores", "severity", "fail-on", "accepted")
"""Keys by which a configuration can take findings out of a report, or the failure out of a run."""


class Doctors:
    """The doctors of a run; what the command line says comes before a configuration's word.

    ``arguments`` are those of any command that reads scripts; an option it lacks is not given.
    ``accepted`` holds, by file, the findings the projects live with, as far as they were read.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._given = vars(arguments)
        self._configurations: dict[str, Configuration] = {}
        self._doctors: dict[tuple[str | None, tuple[str, ...]], Doctor] = {}
        self._told: set[str] = set()
        self.accepted: dict[str, Accepted] = {}

    @property
    def skip_no_launch(self) -> bool:
        """Whether a named script that launches nothing is passed over."""
        return bool(self._given.get("skip_no_launch"))

    def of(self, script: str) -> Doctor | None:
        """Return the doctor for a script; None, and told why, where what it goes by is broken."""
        try:
            configuration = self._configuration(script)
            ignored = ignored_in(configuration, script) if configuration else ()
            key = (configuration.file if configuration else None, ignored)
            if key not in self._doctors:
                self._doctors[key] = self._made(configuration, ignored)
            return self._doctors[key]
        except CatalogError as broken:
            self._tell(map(str, broken.errors))
        except ScriptError as error:
            self._tell([str(error)])
        return None

    def settings(self, script: str) -> dict[str, Chosen]:
        """Return what holds for a script, each value with who said it.

        Raises ``ConfigurationError``.
        """
        return merged(self._given, self._configuration(script))

    def _configuration(self, script: str) -> Configuration | None:
        if self._given.get("untrusted"):
            return None
        file = self._given.get("config") or find(script)
        if file is None:
            return None
        if file not in self._configurations:
            self._configurations[file] = read(file)
        return self._configurations[file]

    def _made(self, configuration: Configuration | None, ignored: tuple[str, ...]) -> Doctor:
        settings = merged(self._given, configuration)
        if configuration is not None:
            files = cast("tuple[str, ...]", settings["rules"].value)
            check_ids(configuration, [rule.id for rule in load_rules(files).rules])
            self._tell(_quieter(configuration, settings))
        doctor = Doctor(_options(settings, self._given, ignored, self._accepted(settings)))
        doctor.catalog  # noqa: B018 - a broken rule is told before anything is diagnosed
        return doctor

    def _accepted(self, settings: Mapping[str, Chosen]) -> Accepted | None:
        """Return what is accepted; several doctors with the same file share one."""
        file = cast("str | None", settings["accepted"].value)
        if file is None:
            return None
        if file not in self.accepted:
            self.accepted[file] = read_accepted(file)
        return self.accepted[file]

    def _tell(self, lines: Iterable[str]) -> None:
        """Complain of each line that was not told before."""
        for line in lines:
            if line not in self._told:
                self._told.add(line)
                complain(line)


def _options(
    settings: Mapping[str, Chosen],
    given: Mapping[str, Any],
    ignored: tuple[str, ...],
    accepted: Accepted | None,
) -> Options:
    chosen: dict[str, Any] = {name: setting.value for name, setting in settings.items()}
    return Options(
        gpu=chosen["gpu"],
        gpus_per_node=chosen["gpus-per-node"],
        environment=dict(given["env"]),
        arguments=tuple(given["arg"]),
        model_config_dir=chosen["model-config-dir"],
        host_ram_gb=chosen["host-ram"],
        mean_response_len=chosen["mean-response-len"],
        response_len_sigma=chosen["response-len-sigma"],
        prompt_len=chosen["prompt-len"],
        rule_files=chosen["rules"],
        select=chosen["select"],
        ignore=(*chosen["ignore"], *ignored),
        severities=chosen["severity"],
        baseline_files=chosen["baselines"],
        network_gb_s=chosen["network"],
        untrusted=bool(given.get("untrusted")),
        accepted=accepted,
    )


def _quieter(configuration: Configuration, settings: Mapping[str, Chosen]) -> Iterator[str]:
    """Yield a line on what a configuration takes out of reports, if it does."""
    keys = [
        key
        for key in _QUIETER
        if configuration.values.get(key) and settings[key].origin == configuration.origin
    ]
    if keys:
        yield f"{configuration.origin} decides what is told ({', '.join(keys)}): --show-settings"

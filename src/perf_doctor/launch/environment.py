"""The environment the trainer's processes get from the script."""

from __future__ import annotations

import json
from collections.abc import Mapping

from perf_doctor.launch.trainer import Trainer
from perf_doctor.shell.model import Command

_RUNTIME_ENV = "--runtime-env-json"


def job_environment(command: Command, trainer: Trainer) -> Mapping[str, str]:
    """Return the variables the script hands on, unknown parts written ``${NAME}``.

    Those of Ray's ``--runtime-env-json`` win over exported ones, since Ray's workers do not
    inherit the environment of ``ray job submit``. A JSON that cannot be read adds nothing.
    """
    environment = dict(command.exported)
    words = [word.text for word in trainer.submit]
    for index, word in enumerate(words):
        text = None
        if word == _RUNTIME_ENV:
            text = next(iter(words[index + 1 : index + 2]), None)
        elif word.startswith(f"{_RUNTIME_ENV}="):
            text = word.partition("=")[2]
        if text is not None:
            environment.update(_env_vars(text))
    return environment


def _env_vars(text: str) -> dict[str, str]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    variables = read.get("env_vars") if isinstance(read, dict) else None
    if not isinstance(variables, dict):
        return {}
    return {str(name): str(value) for name, value in variables.items()}

"""Which language a run speaks."""

from __future__ import annotations

import argparse
import os
from typing import cast

from perf_doctor.cli.doctors import Doctors
from perf_doctor.configuration.merge import DEFAULT
from perf_doctor.language import ENGLISH, of_locale, speak
from perf_doctor.shell.limits import ScriptError


def speak_as_asked(lang: str | None, *, people: bool = True) -> None:
    """Speak the language that is asked for, else that of the locale if people are to read it."""
    speak(lang or (of_locale(os.environ) if people else ENGLISH))


def speak_for(
    arguments: argparse.Namespace, doctors: Doctors, script: str, *, people: bool = True
) -> None:
    """Speak what the command line or the configuration of a script asks for, else the locale's."""
    try:
        chosen = doctors.settings(script)["lang"]
    except ScriptError:  # it is told where the script is read
        speak_as_asked(arguments.lang, people=people)
        return
    asked = None if chosen.origin == DEFAULT else cast("str", chosen.value)
    speak_as_asked(asked, people=people)

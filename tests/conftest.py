"""Puts ``tests/`` on the path, so that every test can import the bash oracle."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from perf_doctor.language import ENGLISH, speak

os.environ["LC_ALL"] = "C.UTF-8"  # reports speak the language of the locale


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    """Speak English again after a test that spoke another language."""
    yield
    speak(ENGLISH)

"""What takes seconds is computed once: every step and speed by rates without its source."""

from __future__ import annotations

import pytest

from perf_doctor.validation.subjects import Validation, validate_bundled


@pytest.fixture(scope="session")
def crossed() -> Validation:
    return validate_bundled(cross=True)

"""``python -m perf_doctor`` is the command."""

from __future__ import annotations

import sys

from perf_doctor.cli import main

sys.exit(main())

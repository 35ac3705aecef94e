"""Compare what perf-doctor reads with what real bash passes, on a checkout of Relax.

    python tools/corpus.py CHECKOUT [--facts DIR]

DIR holds ``relax-argv.json`` (the words real bash passes to the trainer) and
``relax-contexts.json`` (what they mean). Prints every word and every field that differs; exit
code 1 when one does. A word with an unknown part, ``x-${now}``, equals every text of that form.
Nothing of the checkout is executed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from compare_contexts import differences
from perf_doctor.diagnosis import Diagnosis, Doctor, Options
from perf_doctor.shell.limits import ScriptError
from perf_doctor.shell.model import Word

SHOWN = 5
MOUNT = "/root/Relax"
"""Where the checkout stood when bash ran."""

ENTRY = {
    "RELAX_ENTRYPOINT_MODE": "spmd-multinode",
    "MODEL_CONFIG_DIR": f"{MOUNT}/scripts/models",
    "RUNTIME_ENV_JSON": "{}",
    "WORKING_DIR": "/workdir",
    "HOST_IP": "127.0.0.1",
    "MASTER_ADDR": "127.0.0.1",
    "POD_NAME": "127.0.0.1",
    "NUM_GPUS": "8",
    "CPU_THREADS_PER_ACTOR": "24",
    "HAS_NVLINK": "0",
    "PYTHONUNBUFFERED": "1",
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "MEGATRON": "/root/Megatron-LM/",
    "RELAX": f"{MOUNT}/",
    "PYTHONPATH": f"{MOUNT}/:/root/Megatron-LM/",
    "HOME": "/root",
    "USER": "nobody",
}
DIRS = {
    "MODEL_DIR": "/data/models",
    "DATA_DIR": "/data/datasets",
    "SAVE_DIR": "/data/save",
    "BASE_DIR": "/data/base",
    "BASE_FOLDER": "/data/base",
    "HF_CHECKPOINT": "/data/models/HF_CHECKPOINT",
}
"""The environments of the profiles ``entry`` and ``+dirs``."""


def main() -> int:
    """Compare, print, and return 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--facts", type=Path, default=Path("../shared/facts/corpus"))
    arguments = parser.parse_args()
    try:
        truth = json.loads((arguments.facts / "relax-argv.json").read_text())
        contexts = json.loads((arguments.facts / "relax-contexts.json").read_text())
    except OSError as error:
        print(f"corpus: {error.filename}: {error.strerror}; give the folder with --facts",
              file=sys.stderr)  # fmt: skip
        return 2
    checkout = arguments.checkout.resolve()
    by_script = {row["script"]: row for row in contexts.values()}
    equal_argv = equal_contexts = 0
    for script, row in truth.items():
        diagnosis = _diagnose(checkout, script, row["profile"])
        if isinstance(diagnosis, str):
            print(f"{script}: {diagnosis}")
            continue
        argv = list(_differences(diagnosis.trainer.argv, row["argv"], str(checkout)))
        context = list(differences(by_script[script], diagnosis.plan))
        equal_argv += not argv
        equal_contexts += not context
        for difference in (*argv[:SHOWN], *context[:SHOWN]):
            print(f"{script}: {difference}")
    total = len(truth)
    print(f"argv equal: {equal_argv} of {total}; contexts equal: {equal_contexts} of {total}")
    return int(min(equal_argv, equal_contexts) < total)


def _diagnose(checkout: Path, script: str, profile: str) -> Diagnosis | str:
    environment = {**ENTRY, **(DIRS if "dirs" in profile else {})}
    here = {name: text.replace(MOUNT, str(checkout)) for name, text in environment.items()}
    if "cwd_repo" in profile:
        os.chdir(checkout)
    else:
        os.chdir("/")
    try:
        return Doctor(Options(environment=here)).diagnose(str(checkout / script))
    except ScriptError as error:
        return str(error)


def _differences(words: Sequence[Word], truth: Sequence[str], checkout: str) -> Iterator[str]:
    if len(words) != len(truth):
        yield f"{len(words)} words, bash passes {len(truth)}"
    for word, text in zip(words, truth, strict=False):
        if not _same(word, text, checkout):
            yield f"line {word.place.line}: {word.text[:80]!r}, bash passes {text[:80]!r}"


def _same(word: Word, text: str, checkout: str) -> bool:
    mine = word.text.replace(checkout, MOUNT)
    if not word.unknown:
        return mine == text
    pattern = re.escape(mine)
    for unknown in word.unknown:
        pattern = pattern.replace(re.escape(str(unknown)), ".*", 1)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


if __name__ == "__main__":
    sys.exit(main())

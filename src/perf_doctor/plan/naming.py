"""Where the script's name or header says something else than its flags: the flags win."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.launch.filename import read_file_name, read_header
from perf_doctor.plan.plan import Plan


def disagreements(plan: Plan, script: str, header: str) -> Iterator[str]:
    """Yield a sentence for everything the name promises and the flags do not keep.

    Headers are copied from script to script, so all of a header's errors make one sentence. One
    that names several counts describes the parts of the job (4 cards train, 4 generate).
    """
    name = read_file_name(script)
    gpus, mode = plan.cluster.gpus, plan.mode
    accelerator = plan.gpu.accelerator
    if name.gpus and gpus and name.gpus != gpus:
        yield f"the file name says {name.gpus} GPUs, the flags make {gpus}"
    if name.mode and mode and name.mode != mode:
        yield f"the file name says {name.mode}, the flags make it {mode}"
    if name.accelerator and name.accelerator != accelerator and not plan.gpu.assumed:
        yield f"the file name says {name.accelerator}, --gpu says {plan.gpu.name}"
    said = read_header(header)
    wrong = []
    if gpus and len(set(said.gpus)) == 1 and gpus not in (said.gpus[0], sum(said.gpus)):
        wrong.append(f"{said.gpus[0]} GPUs (the flags make {gpus})")
    if said.mode and mode and said.mode != mode:
        wrong.append(f"{said.mode} (the flags make it {mode})")
    if wrong:
        yield f"the header comment says {' and '.join(wrong)}"

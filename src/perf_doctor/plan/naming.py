"""Where the script's name or header says something else than its flags: the flags win."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.launch.filename import Header, read_file_name, read_header
from perf_doctor.plan.plan import Plan
from perf_doctor.wording import counted


def disagreements(plan: Plan, script: str, header: str) -> Iterator[str]:
    """Yield a sentence for everything the name promises and the flags do not keep.

    Headers are copied from script to script, so all of a header's errors make one sentence.
    """
    name = read_file_name(script)
    gpus, mode = plan.cluster.gpus, plan.mode
    accelerator = plan.gpu.accelerator
    if name.gpus and gpus and name.gpus != gpus:
        yield f"the file name says {counted(name.gpus, 'GPU')}, the flags make {gpus}"
    if name.mode and mode and name.mode != mode:
        yield f"the file name says {name.mode}, the flags make it {mode}"
    if name.accelerator and name.accelerator != accelerator and not plan.gpu.assumed:
        yield f"the file name says {name.accelerator}, --gpu says {plan.gpu.name}"
    said = read_header(header)
    wrong = []
    if gpus and said.gpus and not _can_mean(said, gpus):
        wrong.append(f"{counted(said.gpus[0], 'GPU')} (the flags make {gpus})")
    if said.mode and mode and said.mode != mode:
        wrong.append(f"{said.mode} (the flags make it {mode})")
    if wrong:
        yield f"the header comment says {' and '.join(wrong)}"


def _can_mean(said: Header, gpus: int) -> bool:
    """Tell whether the counts of a header can be those of a job with so many GPUs.

    One count is the whole job or one of its nodes. Several differing ones, and those that add up
    to the job, are its parts (4 cards train, 4 generate), of which some may go unsaid.
    """
    counts = set(said.gpus)
    if len(counts) > 1:
        return True
    return gpus in (*counts, sum(said.gpus), *(count * (said.nodes or 1) for count in counts))

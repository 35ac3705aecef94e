"""Where the script's name or header says something else than its flags: the flags win."""

from __future__ import annotations

from collections.abc import Iterator

from perf_doctor.language import said
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
        yield said(
            "the file name says {named}, the flags make {gpus}",
            named=counted(name.gpus, "GPU"),
            gpus=gpus,
        )
    if name.mode and mode and name.mode != mode:
        yield said(
            "the file name says {named}, the flags make it {mode}", named=name.mode, mode=mode
        )
    if name.accelerator and name.accelerator != accelerator and not plan.gpu.assumed:
        yield said(
            "the file name says {named}, --gpu says {gpu}",
            named=name.accelerator,
            gpu=plan.gpu.name,
        )
    title = read_header(header)
    wrong = []
    if gpus and title.gpus and not _can_mean(title, gpus):
        named = counted(title.gpus[0], "GPU")
        wrong.append(said("{named} (the flags make {gpus})", named=named, gpus=gpus))
    if title.mode and mode and title.mode != mode:
        wrong.append(said("{named} (the flags make it {mode})", named=title.mode, mode=mode))
    if len(wrong) > 1:
        yield said("the header comment says {one} and {other}", one=wrong[0], other=wrong[1])
    elif wrong:
        yield said("the header comment says {one}", one=wrong[0])


def _can_mean(title: Header, gpus: int) -> bool:
    """Tell whether the counts of a header can be those of a job with so many GPUs.

    One count is the whole job or one of its nodes. Several differing ones, and those that add up
    to the job, are its parts (4 cards train, 4 generate), of which some may go unsaid.
    """
    counts = set(title.gpus)
    if len(counts) > 1:
        return True
    return gpus in (*counts, sum(title.gpus), *(count * (title.nodes or 1) for count in counts))

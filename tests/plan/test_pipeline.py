"""Layers on stages."""

import pytest
from plan_words import settings_of

from perf_doctor.plan.pipeline import read_pipeline


def stages(line, layers, pp):
    return read_pipeline(settings_of(line), layers, pp)


@pytest.mark.parametrize(
    ("line", "layers", "pp", "expected"),
    [
        ("", 8, 1, (8,)),
        ("", 40, 4, (10, 10, 10, 10)),
        ("", 61, 8, None),
        ("--decoder-last-pipeline-num-layers 5", 61, 8, (8, 8, 8, 8, 8, 8, 8, 5)),
        ("--decoder-first-pipeline-num-layers 8", 32, 3, (8, 12, 12)),
        ("--decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 18", 49, 4,
         (1, 15, 15, 18)),
        ("--decoder-first-pipeline-num-layers 20 --decoder-last-pipeline-num-layers 20", 40, 2,
         (20, 20)),
        ("--decoder-first-pipeline-num-layers 20 --decoder-last-pipeline-num-layers 10", 40, 2,
         None),
        ("--decoder-first-pipeline-num-layers 8", 32, 4, (8, 8, 8, 8)),
        ("--decoder-first-pipeline-num-layers 8", 33, 4, None),
        ("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", 30, 4,
         (7, 8, 8, 7)),
        ("--pipeline-model-parallel-layout Et*4|t*4L", 8, 2, None),
        ("--decoder-last-pipeline-num-layers ${N}", 8, 2, None),
        ("", None, 2, None),
        ("", 8, None, None),
        ("", 10**9, 10**9, None),
    ],
)  # fmt: skip
def test_layers_of_each_stage(line, layers, pp, expected):
    assert stages(line, layers, pp).layers_per_stage == expected


@pytest.mark.parametrize(
    ("line", "vpp", "chunk"),
    [
        ("--num-layers-per-virtual-pipeline-stage 5", 2, 5),
        ("--num-virtual-stages-per-pipeline-rank 5", 5, 2),
        ("--num-virtual-stages-per-pipeline-rank 1", None, None),
        ("--num-layers-per-virtual-pipeline-stage 10", None, None),
        ("--num-layers-per-virtual-pipeline-stage 3", None, None),
        ("", None, None),
    ],
)
def test_interleaved_stages_of_40_layers_over_4(line, vpp, chunk):
    found = stages(line, 40, 4)
    assert (found.vpp, found.layers_per_virtual_stage) == (vpp, chunk)

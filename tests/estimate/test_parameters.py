"""Parameter counts: those of published checkpoints, and nothing lost between ranks."""

import pytest
from estimate_jobs import EXPERTS, SHAPES, mesh_of, shapes, sizes
from hypothesis import given

from perf_doctor.estimate.from_model import shape_of
from perf_doctor.estimate.parameters import count_model, count_stages, on_one_rank
from perf_doctor.estimate.shape import Shape
from perf_doctor.plan.known_models import from_row, known_row

# What the index of the safetensors on Hugging Face says (total_size, 2 bytes each); all of them
# are quoted in public repositories.
PUBLISHED = {
    "Qwen3-0.6B": 596_049_920,
    "Qwen3-1.7B": 1_720_574_976,
    "Qwen3-4B": 4_022_468_096,
    "Qwen3-8B": 8_190_735_360,
    "Qwen3-14B": 14_768_307_200,
    "Qwen3-32B": 32_762_123_264,
    "Qwen3-30B-A3B": 30_532_122_624,
    "Qwen3-235B-A22B": 235_093_634_560,
    "Qwen2.5-0.5B": 494_032_768,
    "Qwen2.5-7B": 7_615_616_512,
    "Qwen2.5-72B": 72_706_203_648,
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Llama-3.1-405B": 405_853_388_800,
}


def shape_by_name(name: str) -> Shape:
    row = known_row(name)
    assert row is not None
    model = from_row(row, "table")
    assert model is not None
    assert model.vocab_size is not None
    shape = shape_of(model, model.vocab_size)
    assert shape is not None
    return shape


@pytest.mark.parametrize("name", PUBLISHED)
def test_totals_are_those_of_the_published_checkpoint(name):
    assert count_model(shape_by_name(name)).total == PUBLISHED[name]


def test_text_towers_and_mtp_make_a_published_checkpoint_to_the_byte():
    """71,903,645,408 bytes of bf16: Megatron-Bridge's verification card of Qwen3.6-35B-A3B."""
    shape = shape_by_name("Qwen3.6-35B-A3B")._replace(mtp_layers=1)
    assert 2 * count_model(shape).total == 71_903_645_408


def test_a_mixture_with_latent_attention_lacks_the_router_bias_alone():
    """DeepSeek-V3 without MTP has 671,026,419,200; 58 layers correct 256 experts each."""
    assert count_model(shape_by_name("DeepSeek-V3")).total + 58 * 256 == 671_026_419_200


@given(shapes, sizes)
def test_stages_together_hold_the_model(shape, pp):
    counts = count_stages(shape, (shape.layers // pp,) * pp)
    assert sum(count.total for count in counts) == count_model(shape).total


@given(shapes, sizes)
def test_ranks_of_a_stage_together_hold_it_and_copies_of_what_is_whole(shape, tp):
    mesh = mesh_of(shape, tp=tp)
    count = count_stages(shape, mesh.stages)[0]
    local = on_one_rank(count, mesh)
    assert local.dense * tp == count.split + tp * count.whole


@given(sizes, sizes)
def test_experts_are_divided_over_ep_and_etp(ep, etp):
    mesh = mesh_of(EXPERTS, ep=ep, etp=etp)
    count = count_stages(EXPERTS, mesh.stages)[0]
    assert on_one_rank(count, mesh).expert * ep * etp == count.expert


def test_a_tied_model_holds_a_second_embedding_on_a_last_stage_of_its_own():
    tied = SHAPES["dense"]._replace(tied=True)
    table = tied.vocab * tied.hidden
    one, two = count_stages(tied, (8,)), count_stages(tied, (4, 4))
    assert sum(count.total for count in two) - one[0].total == table


def test_mtp_lies_on_the_last_stage_with_its_embedding():
    shape = SHAPES["dense"]
    with_mtp = shape._replace(mtp_layers=1)
    first, last = count_stages(with_mtp, (4, 4))
    assert first == count_stages(shape, (4, 4))[0]
    more = last.total - count_stages(shape, (4, 4))[1].total
    assert more > shape.vocab * shape.hidden


def test_uneven_stages_hold_their_own_layers():
    first, middle, last = count_stages(SHAPES["hybrid"], (1, 5, 2))
    assert first.total < middle.total
    assert (
        sum(count.total for count in (first, middle, last)) == count_model(SHAPES["hybrid"]).total
    )

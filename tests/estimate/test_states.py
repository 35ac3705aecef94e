"""States: published steady memory, and offload that takes from the GPU what it gives the host."""

import pytest
from estimate_jobs import DENSE, EXPERTS, mesh_of, shapes, sizes, training_of
from hypothesis import given
from hypothesis import strategies as st

from perf_doctor.estimate.parameters import Local
from perf_doctor.estimate.shape import States
from perf_doctor.estimate.states import optimizer_bytes, state_bytes
from perf_doctor.estimate.training import stages


@pytest.mark.parametrize(
    ("states", "each"),
    [
        (States(), 12),
        (States(master=2), 10),
        (States(master=2, first_moment=2, second_moment=2), 6),
        (States(offload=1.0, device_master=4), 4),
        (States(offload=1.0), 0),
        (States(offload=0.5), 6),
    ],
    ids=["fp32", "remainder", "bf16 moments", "offload", "offload, aware", "half"],
)
def test_bytes_per_element_are_those_of_megatrons_optimizers(states, each):
    assert optimizer_bytes(states) == each


def test_dense_and_expert_parameters_are_sharded_apart():
    mesh = mesh_of(EXPERTS, world=8, tp=2, ep=4)
    held = state_bytes(Local(800.0, 400.0), Local(0.0, 0.0), mesh, States())
    assert held.weights == 2400
    assert held.gradients == 4800
    assert held.optimizer == 12 * (800 / 4 + 400 / 2)


def test_frozen_parameters_have_weights_alone():
    mesh = mesh_of(DENSE)
    held = state_bytes(Local(0.0, 0.0), Local(100.0, 0.0), mesh, States())
    assert (held.weights, held.gradients, held.optimizer, held.host) == (200, 0, 0, 0)


@given(shapes, sizes, st.floats(0, 1))
def test_offload_takes_from_the_gpu_what_it_gives_the_host(shape, tp, fraction):
    mesh = mesh_of(shape, tp=tp)
    plain = stages(training_of(shape, mesh))[0].states
    moved = stages(training_of(shape, mesh, states=States(offload=fraction)))[0].states
    gpu, host = plain.resident - moved.resident, moved.host
    assert gpu * 16 == pytest.approx(host * 12, abs=64)  # the host adds an fp32 gradient


def test_a_narrow_gradient_is_widened_for_the_step_alone():
    held = stages(training_of(DENSE, states=States(gradient=2, main_gradient=4)))[0].states
    assert held.step == pytest.approx(held.optimizer / 3)

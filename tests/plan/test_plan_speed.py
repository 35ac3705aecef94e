"""A plan must be cheap: a search builds thousands of them."""

import time

from plan_words import MOE, resource, settings_of

from perf_doctor.plan.plan import build_plan


def test_a_plan_takes_well_under_a_millisecond():
    settings = settings_of(f"--colocate {MOE} " + resource(actor=8, rollout=8))
    build_plan(settings)

    def took_s():
        start = time.perf_counter()
        for _ in range(20):
            build_plan(settings)
        return (time.perf_counter() - start) / 20

    assert min(took_s() for _ in range(10)) < 0.002  # 0.4 ms on a quiet machine

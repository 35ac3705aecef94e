"""How accurate the estimate is, as JSON."""

from __future__ import annotations

from typing import Any

from perf_doctor.validation.judged import Judged, Summary, score_fits, summarize
from perf_doctor.validation.subjects import SUBJECTS, Validation


def as_json(found: Validation) -> dict[str, Any]:
    """Return the object of ``validate --format json``; each run in its unit, errors as fractions.

    ``cross_validated`` holds what efficiencies that have not seen a run's source say of it.
    """
    score = score_fits(found.judged["memory"])
    summary: dict[str, Any] = {
        one.key: _summary(summarize(found.judged[one.quantity])) for one in SUBJECTS
    }
    summary["fits"] = {"points": score.points, "right": score.right}
    if found.left_out:
        summary["cross_validated"] = {
            one.key: _summary(summarize(found.left_out[one.quantity]))
            for one in SUBJECTS
            if one.quantity in found.left_out
        }
    points = [_point(one) for subject in SUBJECTS for one in found.judged[subject.quantity]]
    return {"summary": summary, "points": points}


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "points": summary.points,
        "eligible": summary.eligible,
        "covered": summary.covered,
        "median_abs_error": summary.median_abs_error,
        "p90_abs_error": summary.p90_abs_error,
        "bias": summary.bias,
        "inside": summary.inside,
        "width": summary.width,
    }


def _point(one: Judged) -> dict[str, Any]:
    predicted = one.predicted
    return {
        "id": one.id,
        "quantity": one.quantity,
        "metric": one.metric,
        "kind": one.kind,
        "source": one.source,
        "tier": one.tier,
        "unit": one.unit,
        "predicted": None if predicted is None else predicted.expected,
        "low": None if predicted is None else predicted.low,
        "high": None if predicted is None else predicted.high,
        "measured": one.measured,
        "error": one.error,
        "eligible": one.eligible,
        "shown_only": one.apart,
        "skipped_because": one.skipped_because,
        "fits": one.fits,
        "fitted": one.fitted,
        "assumptions": list(one.assumptions),
    }

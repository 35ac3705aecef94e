"""What the samples hold."""

from __future__ import annotations

from typing import Literal

from perf_doctor.launch.settings import Settings
from perf_doctor.plan.reading import mapping

Modality = Literal["text", "image", "video", "audio", "omni"]


def read_modality(settings: Settings) -> Modality | None:
    """Return the modality by ``--multimodal-keys``: text without it, None when not known.

    Sound together with anything else is omni; pictures beside videos count as video.
    """
    if settings.value("--multimodal-keys") is None:
        return "text"
    keys = mapping(settings, "--multimodal-keys")
    if keys is None:
        return None
    kinds = {str(key).lower() for key in keys}
    if "audio" in kinds:
        return "omni" if kinds & {"image", "video"} else "audio"
    if "video" in kinds:
        return "video"
    if "image" in kinds:
        return "image"
    return "text" if not kinds else None

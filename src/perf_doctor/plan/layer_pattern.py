"""Patterns of layers as Megatron writes them: ``[0]*1+[1]*60``, ``([1]*3+[0])*10``, ``4``."""

from __future__ import annotations

from perf_doctor.plan.reading import is_whole

# A pattern of more layers, or written longer, describes no model.
MOST_LAYERS = 4096
MOST_TEXT = 4 * MOST_LAYERS


def layer_pattern(written: object, layers: int | None) -> tuple[bool, ...] | None:
    """Return layer by layer whether the pattern marks it, None when it does not fit the layers.

    A number N marks every N-th layer from the first on (megatron/training/arguments.py:232-255
    and megatron/core/models/gpt/gpt_layer_specs.py: ``i % N == 0``).
    """
    if layers is None or layers > MOST_LAYERS:
        return None
    if isinstance(written, str):
        text = written.strip()
        if "[" in text:
            pattern = _evaluated(text)
            return pattern if pattern is not None and len(pattern) == layers else None
        written = int(text) if text.isdecimal() and len(text) < 6 else None
    if not is_whole(written):
        return None
    return tuple(index % written == 0 for index in range(layers))


def _evaluated(text: str) -> tuple[bool, ...] | None:
    """Return the list that an expression of lists, ``+`` and ``*`` builds."""
    if len(text) > MOST_TEXT:
        return None
    plain = text.replace(" ", "")
    if plain[0] == "[" and plain.find("]") == len(plain) - 1:
        items = plain[1:-1].split(",")
        return tuple(item == "1" for item in items) if set(items) <= {"0", "1"} else None
    import ast  # noqa: PLC0415  only for the models whose pattern is an expression

    try:
        value = _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(bool(item) for item in value) if isinstance(value, list) else None


def _value(node: object) -> list[int] | int:
    """Evaluate one node; raises ValueError for anything but lists, numbers, ``+`` and ``*``."""
    import ast  # noqa: PLC0415

    match node:
        case ast.Constant(value=int(number)) if 0 <= number <= MOST_LAYERS:
            return int(number)
        case ast.List(elts=items):
            flat = [_value(item) for item in items]
            return [item for item in flat if isinstance(item, int)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _value(left), _value(right)
            if isinstance(first, list) and isinstance(second, list):
                return _bounded(len(first) + len(second), first + second)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = _value(left), _value(right)
            if isinstance(first, list) and isinstance(second, int):
                return _bounded(len(first) * second, first) * second
    raise ValueError("no pattern of layers")


def _bounded(length: int, items: list[int]) -> list[int]:
    if length > MOST_LAYERS:
        raise ValueError("more layers than any model has")
    return items

"""Builds the flag registry, ``src/perf_doctor/data/flags.json`` and ``flag_sources.json``.

    python tools/build_flags.py --facts flags.json     # from a full list of options
    python tools/build_flags.py --relax CHECKOUT       # refresh from a Relax checkout

A refresh adds options that the checkout registers and the table lacks, takes over changed
defaults, types and choices, and prints what changed; options of Megatron, SGLang and newer
Relax versions stay. ``--check`` prints and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from relax_options import ARGUMENT_FILES, NOT_LITERAL, Registered, registered_options

DATA = Path(__file__).parents[1] / "src" / "perf_doctor" / "data"
COLUMNS = ["kind", "owner", "default", "nargs", "choices", "more"]
# `more` holds what few options have; the registry reads exactly these keys.
MORE = ("dest", "aliases", "off_flags", "reads", "newer", "ignored", "accelerator", "since")
# Options of one parser that are registered again under another prefix; only the original
# is kept (relax/utils/opd/opd_utils.py:87-125, relax/backends/sglang/arguments.py:36-69).
TEACHER, SGLANG = "--teacher-sglang-", "--sglang-"
SGLANG_ROUTER, ROUTER = "--sglang-router-", "--router-"
# Choices a vendor's own SGLang adds (scripts/training/text/run-qwen3-4B-8xklx.sh).
VENDOR_CHOICES = {"--sglang-attention-backend": ["kunlun"]}
Table = dict[str, dict[str, Any]]


def from_facts(rows: list[dict[str, Any]]) -> Table:
    """Return the table of a full list of options, without the rows a mirror rule gives back."""
    flags = {row["flag"] for row in rows}
    table: Table = {}
    for row in rows:
        flag = row["flag"]
        mirrored = "mirror_of" in row or (
            flag.startswith(SGLANG_ROUTER)
            and row["group"] == "sglang-router (passthrough)"
            and flag.replace(SGLANG_ROUTER, ROUTER, 1) in flags
        )
        if not mirrored:
            table[flag] = _entry(row)
    _share_defaults(table)
    return table


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    """Return one option in our terms; an unreadable choice list is dropped."""
    raw = row.get("raw_type")
    kind = {"bool-flag": "switch"}.get(row["type"], row["type"])
    if raw and raw.startswith("bool"):
        kind, raw = "bool", None
    choices = row["choices"] or None
    if choices and ((raw == "enum" and kind != "str") or any(str(c)[:1] == "<" for c in choices)):
        choices = None
    if choices:
        choices = [*choices, *VENDOR_CHOICES.get(row["flag"], [])]
    default = row["default"]
    if isinstance(default, str) and default.startswith("AttnBackend."):
        default = default.split(".")[1]
    if kind == "json" and isinstance(default, str):
        default = json.loads(default)
    if isinstance(default, str) and " (" in default:  # "nccl (hccl on NPU)": a remark
        default = default.split(" (")[0]
    if row["flag"] == "--exit-signal":  # names of signals; a number is only its default
        choices = None
    return {
        "kind": kind,
        "owner": _owner(row),
        "default": default,
        "nargs": row["nargs"],
        "choices": choices,
        "dest": row["dest"],
        "aliases": row["aliases"],
        "off_flags": _off_flags(row),
        "reads": raw,
        "newer": row.get("newer", False),
        "ignored": row.get("ignored", False),
        "accelerator": row.get("accelerator"),
        "since": row.get("since"),
        "source": row["source"],
        "effect": row["effect"],
    }


def _owner(row: dict[str, Any]) -> str:
    """Return whose parser takes the option."""
    if "router (passthrough)" in row["group"]:
        return "router"
    return str(row["origin"]).removesuffix("-known")


def _off_flags(row: dict[str, Any]) -> list[str]:
    """Return the spellings that store False.

    ``--no-x`` beside ``--x`` is argparse's BooleanOptionalAction; a switch with a
    destination of another name that is true, or says ``--no-``, is a ``store_false``.
    """
    if row["type"] != "bool-flag":
        return []
    flag, aliases = row["flag"], row["aliases"]
    stem = flag.removeprefix(SGLANG) if flag.startswith(SGLANG) else flag[2:]
    negated = {f"--no-{stem}", f"{SGLANG}no-{stem}"}
    off = [alias for alias in aliases if alias in negated]
    plain = flag[2:].replace("-", "_")
    if not off and row["dest"] != plain and (row["default"] is True or flag.startswith("--no-")):
        off = [flag, *aliases]
    return off


def _share_defaults(table: Table) -> None:
    """Give switches of one destination one default: argparse keeps the first registered."""
    by_dest: dict[str, list[dict[str, Any]]] = {}
    for entry in table.values():
        if entry["kind"] == "switch":
            by_dest.setdefault(entry["dest"], []).append(entry)
    for entries in by_dest.values():
        shipped = [e for e in entries if not e["since"] and not e["newer"]]
        known = [e["default"] for e in (shipped or entries) if e["default"] is not None]
        for entry in entries:
            entry["default"] = known[0] if known else None


def refresh(table: Table, options: list[Registered]) -> list[str]:
    """Take the checkout's options into ``table``; return one sentence for every change."""
    names = {alias: flag for flag, e in table.items() for alias in [flag, *e["aliases"]]}
    changes: list[str] = []
    for option in options:
        flag = names.get(option.flag)
        if flag is None:
            table[option.flag] = _registered(option)
            names[option.flag] = option.flag
            changes.append(f"added {option.flag} ({option.kind}, {option.source})")
            continue
        changes += _update(flag, table[flag], option)
    registered = {names[option.flag] for option in options}
    changes += [
        f"{flag}: not registered by this checkout (kept)"
        for flag, entry in table.items()
        if entry["source"].startswith(ARGUMENT_FILES) and flag not in registered
    ]
    return changes


def _registered(option: Registered) -> dict[str, Any]:
    unread = (option.default, option.choices)
    default, choices = (None if value == NOT_LITERAL else value for value in unread)
    if option.kind == "json" and isinstance(default, str):
        default = json.loads(default)
    return {
        "kind": option.kind,
        "owner": "relax",
        "default": default,
        "nargs": option.nargs,
        "choices": choices,
        "dest": option.dest,
        "aliases": list(option.aliases),
        "off_flags": list(option.off_flags),
        "reads": option.reads,
        "newer": False,
        "ignored": False,
        "accelerator": None,
        "since": None,
        "source": option.source,
        "effect": "",
    }


def _update(flag: str, entry: dict[str, Any], option: Registered) -> list[str]:
    """Take over what differs; a ``reset_arg`` of a Megatron option swaps its default only."""
    new = _registered(option)
    fields = ["default"] if option.has_default and option.default != NOT_LITERAL else []
    if not option.reset:
        fields += ["nargs", "kind"] if option.reads is None else ["nargs"]
        fields += ["choices"] if option.choices != NOT_LITERAL else []
    changes = []
    if entry["ignored"] or entry["newer"]:
        changes.append(f"{flag}: is registered at {option.source}")
        entry.update(ignored=False, newer=False)
    for name in fields:
        old, value = entry[name], new[name]
        if old != value and not (name == "choices" and not old and not value):
            changes.append(f"{flag}: {name} {old!r} → {value!r} ({option.source})")
            entry[name] = value
    if entry["owner"] == "relax" and entry["source"].split(":")[0] == option.source.split(":")[0]:
        entry["source"] = option.source
    return changes


def load(data: Path) -> tuple[Table, dict[str, str]]:
    """Return the shipped table with the sources joined to it, and the versions it describes."""
    shipped = json.loads((data / "flags.json").read_text(encoding="utf-8"))
    sources = json.loads((data / "flag_sources.json").read_text(encoding="utf-8"))
    table: Table = {}
    for flag, row in shipped["options"].items():
        values = dict(zip(COLUMNS, [*row, *[None] * len(COLUMNS)], strict=False))
        more = values.pop("more") or {}
        source, effect = [*sources[flag], ""][:2]
        empty = {"dest": flag[2:].replace("-", "_"), "aliases": [], "off_flags": [],
                 "newer": False, "ignored": False}  # fmt: skip
        full = {key: more.get(key, empty.get(key)) for key in MORE}
        table[flag] = {**values, **full, "source": source, "effect": effect}
    return table, shipped["versions"]


def write(table: Table, versions: dict[str, str], data: Path) -> None:
    """Write both files, one option a line, so that a change is one line in review."""
    rows = {}
    for flag, entry in table.items():
        plain = flag[2:].replace("-", "_")
        more = {k: entry[k] for k in MORE if entry[k] and not (k == "dest" and entry[k] == plain)}
        row = [entry[name] for name in COLUMNS[:-1]] + [more or None]
        while row[-1] is None:
            row.pop()
        rows[flag] = row
    head = f'{{"versions": {json.dumps(versions)},\n"columns": {json.dumps(COLUMNS)},\n'
    (data / "flags.json").write_text(f'{head}"options": {_lines(rows)}}}\n', encoding="utf-8")
    origins = {f: [e["source"], e["effect"]][: 2 if e["effect"] else 1] for f, e in table.items()}
    (data / "flag_sources.json").write_text(_lines(origins) + "\n", encoding="utf-8")


def _lines(rows: dict[str, Any]) -> str:
    dump = (f"{json.dumps(key)}: {_compact(value)}" for key, value in rows.items())
    return "{\n" + ",\n".join(dump) + "\n}"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def main(argv: list[str] | None = None) -> int:
    """Build or refresh the registry; print every change and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("--facts", type=Path, help="full list of options, one object each")
    parser.add_argument("--relax", type=Path, help="Relax checkout to read (never imported)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the two tables")
    parser.add_argument("--check", action="store_true", help="print what would change")
    options = parser.parse_args(argv)
    if options.facts:
        table = from_facts(json.loads(options.facts.read_text(encoding="utf-8")))
        versions = {"relax": "13cc7ca", "megatron-core": "0.17.1", "sglang": "0.5.12"}
    else:
        table, versions = load(options.data)
    changes = refresh(table, registered_options(options.relax)) if options.relax else []
    print("\n".join([*changes, f"{len(table)} options, {len(changes)} changes"]))
    if not options.check:
        write(table, versions, options.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())

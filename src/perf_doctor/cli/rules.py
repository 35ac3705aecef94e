"""``perf-doctor rules``: look up, check, test and begin rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

from perf_doctor.cli.arguments import Parser, add_language, path
from perf_doctor.cli.output import complain, say
from perf_doctor.cli.speech import speak_as_asked
from perf_doctor.rules.examples import run_examples
from perf_doctor.rules.load import load_rules, page_of
from perf_doctor.rules.model import Catalog, CatalogError
from perf_doctor.rules.position import RuleError
from perf_doctor.rules.reference import (
    SERIES,
    facts_page,
    find_rule,
    list_lines,
    section,
    template,
)
from perf_doctor.shell.limits import ScriptError


def run(words: list[str]) -> int:
    """Run a sub-command of ``rules``; 1 when an example is wrong, 2 when a rule is broken."""
    arguments = make_parser().parse_args(words)
    speak_as_asked(getattr(arguments, "lang", None))
    try:
        return _COMMANDS[arguments.command](arguments)
    except CatalogError as broken:
        for error in broken.errors:
            complain(str(error))
    except (RuleError, ScriptError) as error:
        complain(str(error))
    return 2


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = Parser("perf-doctor rules", "Look up, check, test and begin rules.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="every rule in force, grouped")
    add_language(listed)
    _add_catalogs(listed, "--rules")
    shown = commands.add_parser("show", help="one rule as it is written")
    shown.add_argument("id", metavar="RULE")
    add_language(shown)
    _add_catalogs(shown, "--rules")
    lint = commands.add_parser("lint", help="check every rule and expression")
    _add_catalogs(lint)
    tested = commands.add_parser("test", help="run the examples of the rules")
    _add_catalogs(tested)
    commands.add_parser("facts", help="the facts and functions a rule may use")
    new = commands.add_parser("new", help="a template with the next free id")
    new.add_argument("series", nargs="?", choices=tuple(SERIES), default="P", metavar="C|M|P|S")
    _add_catalogs(new, "--rules")
    return parser


def _add_catalogs(parser: argparse.ArgumentParser, option: str | None = None) -> None:
    """Add the catalogs of the user: as words, or behind an option."""
    if option is None:
        parser.add_argument(
            "rules", nargs="*", type=path, metavar="FILE",
            help="catalogs of your own, beside the built-in one",
        )  # fmt: skip
    else:
        parser.add_argument(option, action="append", default=[], type=path, metavar="FILE")


def _list(arguments: argparse.Namespace) -> int:
    say(*list_lines(load_rules(arguments.rules).rules))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    rule = find_rule(arguments.id, load_rules(arguments.rules).rules)
    say(section(rule, page_of(rule)))
    return 0


def _lint(arguments: argparse.Namespace) -> int:
    catalog = load_rules(arguments.rules)
    unjudged = sum(not rule.cases for rule in catalog.rules)
    say(f"{len(catalog.rules)} rules, {unjudged} of them for a reader to judge: nothing wrong")
    return 0


def _test(arguments: argparse.Namespace) -> int:
    catalog = load_rules(arguments.rules)
    total = wrong = 0
    for outcome in run_examples(_asked_for(catalog, arguments.rules)):
        total += 1
        if outcome.right:
            continue
        wrong += 1
        place, kind = outcome.example.place, "fires" if outcome.example.fires else "quiet"
        say(
            f"{place.file}:{place.line}: {outcome.rule.id} must be {kind}, but is "
            f"{outcome.judgement.verdict}: {outcome.judgement.reason}"
        )
    say(f"{total - wrong} passed, {wrong} failed")
    return int(wrong > 0)


def _asked_for(catalog: Catalog, files: list[str]) -> Catalog:
    """Return the rules of the files that were named, or all of them."""
    if not files:
        return catalog
    own = tuple(rule for rule in catalog.rules if rule.place.file in files)
    others = tuple(rule for rule in catalog.rules if rule.place.file not in files)
    return Catalog(own, catalog.base_jobs, others)


def _facts(_arguments: argparse.Namespace) -> int:
    say(facts_page())
    return 0


def _new(arguments: argparse.Namespace) -> int:
    say(template(arguments.series, load_rules(arguments.rules).rules))
    return 0


_COMMANDS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "list": _list,
    "show": _show,
    "lint": _lint,
    "test": _test,
    "facts": _facts,
    "new": _new,
}

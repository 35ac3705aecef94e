"""Prose with values in it, and the flag changes of a fix."""

import re
from itertools import pairwise

import pytest

from perf_doctor.rules.load import load_rules
from perf_doctor.rules.position import RuleError, located
from perf_doctor.rules.template import changes, parse_patch, parse_template, show
from perf_doctor.shell.model import Unknown


class Scope:
    """Facts by name; a flag is given when it has a value."""

    def __init__(self, flags=None, **facts):
        self.facts, self.options, self.flags = facts, flags or {}, self

    def fact(self, name):
        return self.facts[name]

    def value(self, flag):
        return self.options.get(flag)

    def given(self, flag):
        return flag in self.options

    def on(self, flag):
        return self.options.get(flag) is True


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "on"),
        (False, "off"),
        (None, "not given"),
        (3, "3"),
        (3.0, "3"),
        (0.25, "0.25"),
        (1 / 3, "0.3333"),
        ("flash", "flash"),
        ("--foo", "`--foo`"),
        ("a`b\n[x](http://y)", "``  a`b\\n[x](http://y) ``".replace("  ", " ")),
        (("actor", "rollout"), "actor, rollout"),
        ({"actor": [1, 8]}, '`{"actor": [1, 8]}`'),
        (Unknown("GBS", "unset"), "`${GBS}`"),
    ],
)
def test_values_read_as_in_prose(value, text):
    assert show(value) == text


def test_a_full_path_is_shown_straight():
    assert show("/work/tree/scripts/../../data/./x.parquet") == "`/work/data/x.parquet`"
    assert show("data/../x") == "`data/../x`"


def test_a_number_goes_with_its_noun():
    template = parse_template(located('{counted(n, "actor GPU")}, {counted(p, "process")}'))
    assert template.fill(Scope(n=1, p=1)) == "1 actor GPU, 1 process"
    assert template.fill(Scope(n=8.0, p=0)) == "8 actor GPUs, 0 processes"
    assert template.fill(Scope(n=None, p=Unknown("P", "unset"))) == "not given, `${P}`"


COUNTABLE = (
    "GPUs|nodes|processes|stages|layers|steps|samples|prompts|answers|micro-batches|engines|"
    "windows|words|heads|experts|slices|ranks|devices|requests|chunks"
)


def test_no_rule_puts_a_bare_number_before_a_noun_in_the_plural():
    bare = re.compile(rf"(?!spans |the )([a-z-]+ ){{0,2}}({COUNTABLE})\b")
    for rule in load_rules().rules:
        for template in (rule.cost, rule.fix, *(case.cost for case in rule.cases)):
            parts = template.parts if template else ()
            for hole, text in pairwise(parts):
                if isinstance(hole, str) or not isinstance(text, str):
                    continue
                assert not bare.match(text.removeprefix(" ")), f"{rule.id}: {hole.text}{text}"


def test_holes_are_filled_and_json_is_left_alone():
    template = parse_template(located('TP{tp} × {tp * 2}, `--x {"image": "image"}` {}'))
    assert template.fill(Scope(tp=4)) == 'TP4 × 8, `--x {"image": "image"}` {}'


@pytest.mark.parametrize("text", ["{tp", '{"a" if p else "b"}', "{ tp}", "{tp +}"])
def test_a_brace_that_is_neither_hole_nor_json_is_an_error(text):
    with pytest.raises(RuleError):
        parse_template(located(text))


def ways(text, **scope):
    found = changes(parse_patch(located(text)), Scope(**scope))
    return [(dict(way.set), way.unset) for way in found]


def test_a_patch_sets_removes_and_has_alternatives():
    text = "`set --tp {tp * 2}` `set --hybrid`, `unset --colocate` or `set --cp 1`"
    assert ways(text, tp=2, flags={"--colocate": True}) == [
        ({"--tp": "4", "--hybrid": True}, ("--colocate",)),
        ({"--cp": "1"}, ()),
    ]


def test_a_way_whose_value_is_not_known_is_left_out():
    assert ways("`set --tp {tp}` or `set --cp {cp}`", tp=Unknown("TP", "unset"), cp=None) == []


def test_a_way_may_be_open_to_some_jobs_only():
    assert ways("when `tp > 1`: `set --tp 1`", tp=1) == []
    assert ways("when `tp > 1`: `set --tp 1`", tp=2) == [({"--tp": "1"}, ())]
    assert ways("when `tp > 1`: `set --tp 1`", tp=Unknown("TP", "unset")) == []


def test_what_is_set_so_already_is_no_change():
    flags = {"--hybrid": True, "--tp": 2}
    assert ways("`set --hybrid` `set --tp 2` `unset --cp`", flags=flags) == [({}, ())]


@pytest.mark.parametrize(
    "text",
    ["set --x 1", "`set x 1`", "`drop --x`", "`unset --x 1`", "`set --x` xor `set --y`", "``", "x"],
)
def test_anything_else_is_an_error(text):
    with pytest.raises(RuleError):
        parse_patch(located(text))

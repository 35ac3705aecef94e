"""The rule language: what it takes, what it refuses, and that unknown never turns into no."""

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_doctor.rules.check import (
    BOOL,
    LIST,
    NUMBER,
    TEXT,
    Type,
    check_condition,
    check_expression,
)
from perf_doctor.rules.evaluate import evaluate, holds, trace
from perf_doctor.rules.expression import MAX_CHARACTERS, MAX_DEPTH, MAX_NODES, parse_expression
from perf_doctor.rules.position import Located, RuleError
from perf_doctor.shell.model import Unknown

UNKNOWN = Unknown("X", "nobody tells")
NAMES = {
    **dict.fromkeys("abcd", NUMBER),
    **dict.fromkeys("pqr", BOOL),
    "mode": Type("text", ("colocate", "hybrid")),
    "name": TEXT,
    "roles": LIST,
}
FLAGS = {"--size": NUMBER, "--colocate": BOOL, "--backend": Type("text", ("flash", "auto"))}


class Words:
    facts = NAMES

    def option(self, flag):
        return FLAGS.get(flag)

    def nearest_option(self, flag):
        return "--size" if flag == "--sizes" else None


class Scope:
    """Facts by name and flags by name; a flag is given when it has a value."""

    def __init__(self, facts=None, flags=None):
        self.values = facts or {}
        self.given_flags = flags or {}
        self.flags = self

    def fact(self, name):
        return self.values[name]

    def value(self, flag):
        return self.given_flags.get(flag)

    def given(self, flag):
        return flag in self.given_flags

    def on(self, flag):
        return bool(self.given_flags.get(flag))


def value_of(text, flags=None, **facts):
    expression = parse_expression(text)
    check_expression(expression, Words())
    return evaluate(expression, Scope(facts, flags))


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("a + b * 2", {"a": 1, "b": 3}, 7),
        ("a // b", {"a": 7, "b": 2}, 3),
        ("a / b", {"a": 7, "b": 2}, 3.5),
        ("-a % b", {"a": 7, "b": 4}, 1),
        ("1 < a <= 4", {"a": 4}, True),
        ("1 < a <= 4", {"a": 1}, False),
        ("p and not q", {"p": True, "q": False}, True),
        ("a if p else b", {"p": False, "a": 1, "b": 2}, 2),
        ("mode in ('colocate', 'hybrid')", {"mode": "hybrid"}, True),
        ("'actor' not in roles", {"roles": ("actor", "rollout")}, False),
        ("min(a, b, 3) + max(a, b)", {"a": 5, "b": 4}, 8),
        ("ceil(a / b) + floor(a / b) + abs(-a)", {"a": 5, "b": 2}, 10),
        ("log2(a)", {"a": 8}, 3),
        ("len(roles)", {"roles": ("actor",)}, 1),
        ("default(a, 4)", {"a": None}, 4),
        ("default(a, 4)", {"a": 2}, 2),
        ("largest_divisor(a, b)", {"a": 36, "b": 8}, 6),
        ("round_up(a, b) - round_down(a, b)", {"a": 10, "b": 4}, 4),
        ("p == (a > 1)", {"p": True, "a": 2}, True),
    ],
)
def test_expressions_mean_what_python_means(text, facts, expected):
    assert value_of(text, **facts) == expected


def test_flags_are_asked_by_name():
    flags = {"--size": 3, "--colocate": True}
    assert value_of('value("--size") + 1', flags) == 4
    assert value_of('given("--size", "--backend")', flags) is True
    assert value_of('given("--backend")', flags) is False
    assert value_of('on("--colocate")', flags) is True
    assert value_of('which("--size", "--backend")', flags) == ("--size",)


@pytest.mark.parametrize(
    "text",
    ["a < 3", "a > 3", "a == 3", "a != 3", "3 >= a", "a in (3,)", "a not in (3,)", "1 < a < 9"],
)
def test_an_absent_value_satisfies_no_comparison(text):
    assert value_of(text, a=None) is False


def test_only_a_written_none_tests_for_absence():
    assert value_of("a == None", a=None) is True
    assert value_of("a != None", a=None) is False
    assert value_of("a == None", a=0) is False
    assert value_of("a == b", a=None, b=None) is False


def test_arithmetic_with_an_absent_value_is_absent():
    assert value_of("a * 2 + 1", a=None) is None
    assert value_of("min(a, 2)", a=None) is None
    assert value_of("a % b", a=4, b=0) is None
    assert value_of("a / 0", a=UNKNOWN) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p and q", False),
        ("q and p", False),
        ("p or not q", True),
        ("p or q", UNKNOWN),
        ("not p", UNKNOWN),
        ("(p and q) or a < 3", UNKNOWN),
        ("a + 1 > 3", UNKNOWN),
        ("1 if p else 1", 1),
        ("1 if p else 2", UNKNOWN),
        ("max(a, 2)", UNKNOWN),
        ("b < a", UNKNOWN),
        ("a == None", UNKNOWN),
    ],
)
def test_kleene(text, expected):
    assert value_of(text, p=UNKNOWN, q=False, a=UNKNOWN, b=1) == expected


def test_a_condition_that_is_absent_does_not_hold():
    expression = parse_expression('value("--colocate")')
    check_condition(expression, Words())
    assert holds(expression, Scope()) is False


def test_the_trace_names_every_part_and_its_value():
    steps = trace(parse_expression("a % (b * 2) != 0"), Scope({"a": 8, "b": 3}))
    assert [(step.text, step.value) for step in steps] == [
        ("a", 8),
        ("b", 3),
        ("b * 2", 6),
        ("a % (b * 2)", 2),
        ("a % (b * 2) != 0", True),
    ]


@pytest.mark.parametrize(
    ("text", "column", "message", "nearest"),
    [
        ("modd == 'hybrid'", 1, "there is no fact 'modd'", "mode"),
        ("a + mim(a, b)", 5, "there is no function 'mim'", "min"),
        ("value('--sizes') > 1", 7, "there is no option --sizes", "--size"),
        ("mode == 'colcate'", 9, "'colcate' is none of colocate, hybrid", "colocate"),
        ("value('--backend') in ('flash', 'aut')", 33, "'aut' is none of flash, auto", "auto"),
        ("name > 3", 1, "only numbers have an order", None),
        ("name + 1 > 3", 1, "a number is needed here, and `name` is text", None),
        ("p and a", 7, "a condition (true or false) is needed here, and `a` is a number", None),
        ("a == 'x'", 1, "a number never equals text", None),
        ("min()", 1, "min() takes 1 argument(s), not 0", None),
        ("given(name)", 7, "a flag in quotes is needed here", None),
        ("a in b", 6, "a list is needed after 'in'", None),
        ("a if p else name", 1, "the two outcomes are of different kinds", None),
        ("a", 1, "this is a number, not a condition", None),
        ("a ** 2 > 1", 1, "a power is not part of an expression", None),
        ("a.real > 1", 1, "a dot (there are no attributes) is not part", None),
        ("roles[0] == 'x'", 1, "an index in square brackets", None),
        ("a is None", 1, "'is'; write ==", None),
        ("[a for a in roles] == None", 1, "a loop is not part", None),
        ("(lambda: 1)() > 0", 1, "only calls such as min(a, b) are possible", None),
        ("min(*roles) > 0", 5, "a star is not part", None),
        ("len(roles, key=1) > 0", 1, "only calls such as min(a, b) are possible", None),
        ("f'{a}' == 'x'", 1, "an f-string is not part", None),
        ("a in (b, 1)", 7, "a list may hold numbers and text only", None),
        ("a > 9223372036854775809", 5, "a number beyond 2^63", None),
        ("a > 1e400", 5, "a number beyond 2^63", None),
        ("counted(a, name) == 'x'", 12, "words in quotes are needed here", None),
        ("a > 1j", 5, "1j is not part of an expression", None),
        ("a > 'x\\n'", 7, "is not part of an expression", None),
        ("a >", 4, "invalid syntax", None),
        ("", 1, "an expression is missing here", None),
    ],
)
def test_mistakes_are_errors_with_their_place_and_the_nearest_right_name(
    text, column, message, nearest
):
    with pytest.raises(RuleError) as caught:
        check_condition(parse_expression(Located(text, "r.md", ((0, 7, 1),))), Words())
    assert message in str(caught.value)
    assert (caught.value.place.line, caught.value.place.column) == (7, column)
    assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    "text",
    [
        "a" * (MAX_CHARACTERS + 1),
        "+".join("a" * (MAX_NODES // 2 + 2)),
        "-" * (MAX_DEPTH + 1) + "a",
        "(" * 900 + "a" + ")" * 900,
        "not " * 400 + "p",
        "a" + "\0",
        "\ud800 == a",
    ],
)
def test_what_is_too_large_or_no_text_is_refused(text):
    with pytest.raises(RuleError):
        check_expression(parse_expression(text), Words())


def test_a_result_beyond_the_bounds_is_an_error():
    with pytest.raises(RuleError, match="beyond"):
        value_of("a * a", a=2**62)


def test_the_place_of_an_error_is_in_the_line_the_part_stands_in():
    source = Located("p and  modd == 'x'", "r.md", ((0, 3, 10), (7, 4, 5)))
    with pytest.raises(RuleError) as caught:
        check_condition(parse_expression(source), Words())
    assert (caught.value.place.line, caught.value.place.column) == (4, 5)


# --- properties -------------------------------------------------------------------------------

numbers = st.one_of(
    st.sampled_from("abcd"), st.integers(0, 9).map(str), st.just("0.5"), st.just("default(a, 1)")
)
terms = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        inner.map(lambda t: f"-{t}"),
    ),
    max_leaves=4,
)
comparisons = st.one_of(
    st.tuples(terms, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), terms).map(" ".join),
    st.sampled_from(["p", "q", "r", "a == None", "b != None", "a in (1, 2)", "1 < a < b"]),
).map("({})".format)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
        inner.map("(not {})".format),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    ),
    max_leaves=5,
)
number_facts = st.one_of(st.none(), st.integers(-3, 9), st.floats(-2, 2), st.just(UNKNOWN))
bool_facts = st.one_of(st.none(), st.booleans(), st.just(UNKNOWN))
facts = st.fixed_dictionaries(
    {**dict.fromkeys("abcd", number_facts), **dict.fromkeys("pqr", bool_facts)}
)


@given(conditions, facts, st.data())
@settings(max_examples=400, deadline=None)
def test_learning_an_unknown_never_contradicts_an_answer(text, known, data):
    expression = parse_expression(text)
    check_condition(expression, Words())
    try:
        before = holds(expression, Scope(known))
    except RuleError:
        return
    refined = {
        name: data.draw(
            (number_facts if name in "abcd" else bool_facts).filter(lambda v: v is not UNKNOWN)
        )
        if value is UNKNOWN
        else value
        for name, value in known.items()
    }
    try:
        after = holds(expression, Scope(refined))
    except RuleError:
        return
    assert isinstance(after, bool)
    assert isinstance(before, Unknown) or before is after


@given(terms, st.dictionaries(st.sampled_from("abcd"), st.integers(-9, 9)))
@settings(max_examples=300, deadline=None)
def test_arithmetic_equals_pythons(text, known):
    known = {**dict.fromkeys("abcd", 1), **known}
    names = {"min": min, "default": lambda x, _: x}
    try:
        expected = eval(text, names, dict(known))
    except ZeroDivisionError:
        return
    assert value_of(text, **known) == pytest.approx(expected)


SOME = {"mode": None, "name": "x", "roles": ("x",), "flags": ("--size",)}
alphabet = [
    *("a", "p", "mode", "roles", "flags", "1", "0", "'x'", "None", "True", "(", ")", ",", "[", "]"),
    *("and", "or", "not", "in", "if", "else", "==", "!=", "<", "+", "*", "**", "%", "/", ".", "is"),
    *(
        "value(",
        "given(",
        "min(",
        "len(",
        "default(",
        "item(",
        '"--size"',
        "lambda",
        "x:=",
        "{",
        "\\",
    ),
]


@given(
    st.one_of(st.text(max_size=40), st.lists(st.sampled_from(alphabet), max_size=14).map(" ".join))
)
@settings(max_examples=1500, deadline=None)
def test_nothing_but_its_own_error_ever_comes_out(text):
    scope = Scope({**dict.fromkeys("abcd", 1), **dict.fromkeys("pqr", True), **SOME})
    error = None
    try:
        expression = parse_expression(text)
        check_expression(expression, Words())
        evaluate(expression, scope)
        trace(expression, scope)
    except RuleError as caught:
        error = caught
    assert error is None or (error.place.line == 1 and "\n" not in str(error))


@given(st.sampled_from(list("abcd")), st.integers(-5, 5), st.sampled_from(["<", "<=", ">", ">="]))
def test_orderings_agree_with_python(name, number, sign):
    order = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[sign]
    assert value_of(f"{name} {sign} 0", **{name: number}) is order(number, 0)

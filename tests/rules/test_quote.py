"""What a script says stands in our prose as code: one line, nothing hidden, no markup."""

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from perf_doctor.inert import MAX_SHOWN_CHARS
from perf_doctor.rules.quote import Prose, as_code, quoted


def kinds(markdown):
    (paragraph,) = [t for t in MarkdownIt().parse(markdown) if t.type == "inline"]
    return [child.type for child in paragraph.children]


def test_a_plain_word_stays_plain_and_anything_else_is_code():
    assert quoted("actor_fwd") == "actor_fwd"
    assert quoted("1e-6") == "1e-6"
    assert quoted("--colocate") == "`--colocate`"
    assert quoted("www.example.org") == "`www.example.org`"
    assert quoted("a`b") == "`` a`b ``"
    assert quoted(Prose("`a` → `b`")) == "`a` → `b`"
    assert quoted("\x1b[31m\u202e") == "`\\x1b[31m\\u202e`"


def test_long_text_is_cut_in_the_middle():
    assert len(as_code("x" * 10_000)) <= MAX_SHOWN_CHARS + 3


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_text_is_one_span_of_code(text):
    shown = as_code(text)
    assert shown.isprintable()
    assert kinds(f"x {shown} y") == ["text", "code_inline", "text"]

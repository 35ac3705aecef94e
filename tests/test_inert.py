"""Text of a script is harmless wherever it is shown."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from perf_doctor.inert import code, inert, prose, shortened

TEXT = st.text(st.characters(codec=None), max_size=80)
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
RENDER = MarkdownIt("commonmark")


@given(TEXT)
def test_inert_text_has_no_control_character(text: str) -> None:
    assert not CONTROL.search(inert(text))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert inert(text) == text


def test_controls_become_visible() -> None:
    assert inert("a\x1b[31mb\n\u202ec") == "a\\x1b[31mb\\n\\u202ec"


@given(TEXT)
def test_code_shows_exactly_the_text_and_nothing_else(text: str) -> None:
    tokens = RENDER.parseInline(code(text))[0].children or []
    kinds = {token.type for token in tokens if token.content}
    assert kinds <= {"code_inline"}
    shown = "".join(token.content for token in tokens)
    assert shown.strip() == inert(text).strip()


@given(TEXT)
def test_prose_makes_no_link_image_html_or_emphasis(text: str) -> None:
    tokens = RENDER.parseInline(prose(text))[0].children or []
    assert {token.type for token in tokens} <= {"text", "code_inline", "text_special"}


def test_underscores_in_a_row_emphasize_nothing() -> None:
    tokens = RENDER.parseInline(prose("__0__ and a_b_c"))[0].children or []
    assert {token.type for token in tokens} <= {"text", "text_special"}
    assert prose("a_b_c") == "a_b_c"


def test_prose_keeps_the_code_spans_of_a_rule() -> None:
    assert prose("pass `--x_y` or <b>") == "pass `--x_y` or \\<b>"


def test_an_unpaired_backtick_opens_nothing() -> None:
    tokens = RENDER.parseInline(prose("one ` two"))[0].children or []
    assert "code_inline" not in {token.type for token in tokens}


def test_a_long_text_is_cut_in_the_middle() -> None:
    assert shortened("a" * 10 + "b" * 10, 9) == "aaaa…bbbb"
    assert shortened("short", 9) == "short"

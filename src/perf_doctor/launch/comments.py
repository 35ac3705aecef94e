"""What comments beside flags say: reasons, orders to keep quiet, contradictions.

A comment is untrusted text. Here it is looked at for three things only, and whatever else it says
is neither obeyed nor understood. A comment belongs to the flags that follow it up to the next blank
line, or to the flag on its own line; the shell room has bound it so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from perf_doctor.frozen import frozen
from perf_doctor.language import said
from perf_doctor.launch.settings import Setting, Settings
from perf_doctor.shell.model import Comment, Note, Word

MAX_QUOTED_CHARS: Final = 120
MIN_WORDS: Final = 4

# The patterns are compiled where they are first used: most launches need none of them.
_DISABLED: Final = (
    r"""(?x)-{1,2}[a-zA-Z] | [A-Z][A-Z0-9_]*\+?= | ["']?\$\{?[A-Z] | ["'][^"']*["']\s*\\?$"""
)
"""A commented-out flag, assignment or word: it speaks of what is not there."""

_USAGE: Final = (
    r"(?xi)\b(?:un)?comment\ (?:this|it|out|the)\b | ^usage\b | ^you\ can\b | ^set\ to\b | 注释掉"
)
"""Instructions to the next user of the script, which say nothing of today's value."""

_REASON: Final = r"""(?x)
    \b(?:
        because | since | so\s(?:that|we|as|the) | otherwise | or\selse | due\sto
      | to\s(?:avoid|prevent|fit|keep|stay|save) | avoid(?:s|ing)? | prevent(?:s|ing)?
      | needs? | needed | require[sd]? | must | mandatory
      | oom(?:ed|ing|s)? | out\sof\smemory | headroom | minimi[sz]ing | bounds? | frees?
      | (?:does|do|did)(?:\snot|n't)\s(?:fit|support|work) | (?:not|un)[- ]?support(?:ed)?
      | cannot | can't | crash(?:es|ed)? | hang(?:s|ing)? | deadlock | diverge[sd]? | illegal
      | instab(?:le|ility) | stability | bug | work[- ]?around | incompatible | broken
      | too\s(?:large|big|small|slow|long|much) | only\s(?:for|to|a) | just\s(?:fits|enough)
      | measured | tested | observed | on\spurpose | intentional(?:ly)? | deliberate(?:ly)?
      | smoke | debug(?:ging)? | kept?\s(?:on|off|for) | faster | slower | note | warning
    )\b
    | \d\s?gi?b\b
    | 因为 | 由于 | 否则 | 避免 | 防止 | 以免 | 需要 | 必须 | 不支持 | 不能 | 无法 | 不够 | 不足
    | 显存 | 爆 | 为了 | 导致 | 保证 | 确保 | 才能 | 实测 | 仅用于 | 只用于 | 调试 | 临时
    """
"""What a reason sounds like in lower case, in the words of comments of public launch scripts."""

_DIRECTIVE: Final = r"(?i)perf-doctor:\s*ignore\s*\[([^\]]*)\]\s*(.*)"
_RULE_ID: Final = r"R-[A-Z]\d{2,}"
_SENTENCE_END: Final = r"(?<=[.;。；!])\s+|\s+[—–]\s+"


@frozen
class Reason:
    """A comment that says why a flag stands there: the sentence that does, and its place."""

    text: str
    comment: Comment


@frozen
class Directive:
    """``# perf-doctor: ignore[R-M01] reason``: rules not to report for the flags beside it."""

    rules: tuple[str, ...]
    reason: str
    comment: Comment


def directive(comment: Comment) -> Directive | None:
    """Return the order to ignore rules that a comment is, None for any other comment."""
    match = re.search(_DIRECTIVE, comment.text)
    if match is None:
        return None
    return Directive(tuple(re.findall(_RULE_ID, match[1].upper())), match[2].strip(), comment)


def reason_for(words: Iterable[Word]) -> Reason | None:
    """Return the first reason among the comments of the words, a trailing comment first."""
    blocks = [block for word in words for block in _blocks(word.comments)]
    for block in sorted(blocks, key=lambda block: block[0].own_line):
        if (reason := _reason(block)) is not None:
            return reason
    return None


def _blocks(comments: Sequence[Comment]) -> Iterator[tuple[Comment, ...]]:
    """Yield the comments in groups: lines that follow one another are one text."""
    block: list[Comment] = []
    for comment in comments:
        follows = block and comment.own_line and comment.place.line == block[-1].place.line + 1
        if block and not (follows and block[-1].own_line):
            yield tuple(block)
            block = []
        block.append(comment)
    if block:
        yield tuple(block)


def _reason(block: tuple[Comment, ...]) -> Reason | None:
    """Return the sentence of a block that gives a reason, one of four words at least if there is.

    Commented-out flags in the block, and what is said behind them, are passed over.
    """
    if directive(block[0]):
        return None
    lines = [_plain(comment) for comment in block]
    text = " ".join(line for line in lines if line and not re.match(_DISABLED, line))
    found = [
        sentence
        for sentence in re.split(_SENTENCE_END, text)
        if re.search(_REASON, sentence.lower()) and not re.search(_USAGE, sentence)
    ]
    if not found:
        return None
    sentence = next((s for s in found if len(s.split()) >= MIN_WORDS), found[0])
    at = next((i for i, line in enumerate(lines) if line and line in sentence), 0)
    return Reason(_quoted(sentence), block[at])


def _plain(comment: Comment) -> str:
    """Return the comment's text without its hash signs; a ruled line is empty."""
    text = comment.text.lstrip("#! \t").strip()
    return "" if not text.strip("=-─━* ") else text


def _quoted(sentence: str) -> str:
    if len(sentence) <= MAX_QUOTED_CHARS:
        return sentence
    return sentence[: MAX_QUOTED_CHARS - 1].rstrip() + "…"


# What a comment may claim of the flag it stands beside, by flag.
_CLAIMS: Final[dict[str, tuple[str, ...]]] = {
    "--tensor-model-parallel-size": (r"\bTP\s*[=:]?\s*(\d+)\b",),
    "--pipeline-model-parallel-size": (r"\bPP\s*[=:]?\s*(\d+)\b",),
    "--context-parallel-size": (r"\bCP\s*[=:]?\s*(\d+)\b",),
    "--expert-model-parallel-size": (r"\bEP\s*[=:]?\s*(\d+)\b",),
    "--expert-tensor-parallel-size": (r"\bETP\s*[=:]?\s*(\d+)\b",),
    "--rollout-num-gpus-per-engine": (
        r"(?i)\b(\d+)\s*GPUs?\s*(?:per|/|for each|for one)\s*engine\b",
        r"\brollout-num-gpus-per-engine\s+(\d+)\b",
    ),
}
_DENIAL: Final = (
    r"(?i)(?:does|do|did)(?:\s+not|n't)\s+(?:yet\s+)?support\s+(?:the\s+)?(\w+)|不支持\s*(\w+)"
)


def contradictions(settings: Settings) -> Iterator[Note]:
    """Yield a note for every comment that claims something else of a flag than it is set to.

    Only the comment right beside or right above a flag counts, and of another flag's sizes only
    what it calls by name (TP, PP, …): blocks describe whole groups and are left alone.
    """
    for setting in settings:
        if settings.given(setting.flag) is not setting:
            continue
        for comment in _nearest(setting):
            if (claim := _claim(setting, _plain(comment))) is not None:
                written = " ".join(word.text for word in setting.words)
                text = said(
                    "a comment beside {setting} says otherwise: {comment}",
                    setting=written,
                    comment=_quoted(claim),
                )
                yield Note(text, comment.place)


def _nearest(setting: Setting) -> Iterator[Comment]:
    line = setting.place.line
    for comment in setting.words[0].comments:
        if comment.place.line == line or (comment.own_line and comment.place.line == line - 1):
            yield comment


def _claim(setting: Setting, text: str) -> str | None:
    """Return the comment's text when it claims another value than the flag has."""
    if text.startswith("--"):
        return None
    for pattern in _CLAIMS.get(setting.option.flag, ()):
        for match in re.finditer(pattern, text):
            if isinstance(setting.value, int) and int(match[1]) != setting.value:
                return text
    denied = re.search(_DENIAL, text)
    if denied and str(setting.value).lower() == (denied[1] or denied[2]).lower():
        return text
    return None

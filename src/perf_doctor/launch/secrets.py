"""Secrets of a launch, and their removal from every text that is printed.

A secret is the value of a flag or variable whose name says so, or a text that looks like a
known kind of credential. A word that starts with ``--`` is never a secret's value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from perf_doctor.inert import CUT, inert, prose

REDACTED = "${REDACTED}"
# Shorter texts would be found inside ordinary words: they are masked as words of their own, and
# still shorter ones where they stand only.
_SHORTEST = 6
_SHORTEST_WORD = 4


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A name is taken apart at `-`, `_`, `.` and where capitals begin; whole parts count. These say
# secret unless the name is of a place or a switch (`PASSWORD_FILE`).
_STRONG = _words(
    """
    secret secrets password passwd passphrase pwd credential credentials apikey accesskey
    secretkey authtoken bearer authorization
    """
)
_PLACES = _words(
    """
    path file dir name id ids type mode enable disable use url uri issuer audience role map
    mapping
    """
)
# These have other meanings too: a `token` counts only at the end of a name, and a `key` names a
# column of a data set unless it stands beside its owner (`--wandb-key`).
_WEAK = _words("token auth pat jwt cookie webhook dsn key keys tokens")
_OWNED = _words("key keys tokens")
_OWNERS = _words(
    """
    api access auth wandb private secret ssh encryption signing openai anthropic hf huggingface
    swanlab clearml comet azure aws gcp client tls ssl deepseek dashscope serper google github
    gitlab license admin
    """
)
_OTHER_MEANINGS = _PLACES | _words(
    """
    max min num per gpu len length size limit dispatcher input label reward output tool
    multimodal prompt image video audio metadata drop permute count budget cache eos bos pad unk
    eod mask prefix suffix middle layers level rate ratio loss attn embedding channels heads
    value query special begin end start stop chunk style first inter
    """
)
# Columns of a data set that only look like somebody's key.
_COLUMN_FLAGS = frozenset({"--opd-teacher-key", "--opd-teacher-prompt-key"})

# Kinds of credentials that show by themselves: Hugging Face, OpenAI and its likes, GitHub,
# GitLab, AWS, Slack, Google, JWT; then a user's password in an address, an authorization
# header, a private key. Every pattern starts at an edge: a search takes time linear in the text.
_LOOKS = r"""
(?<![A-Za-z0-9_-])(?:
    hf_[A-Za-z0-9]{16,}
    |sk-[A-Za-z0-9_-]{16,}
    |gh[pousr]_[A-Za-z0-9]{20,}
    |github_pat_[A-Za-z0-9_]{20,}
    |glpat-[A-Za-z0-9_-]{16,}
    |(?:AKIA|ASIA)[A-Z0-9]{16}
    |xox[abeoprs]-[A-Za-z0-9-]{10,}
    |AIza[A-Za-z0-9_-]{30,}
    |eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+
)
|(?<=://)[^\s/:@'"]*+:[^\s/@'"]++(?=@)
|(?<=[Aa]uthorization:\ )[^\s'"\\]++(?:\ [^\s'"\\]++)?
|(?<=[Bb]earer\ )(?=[A-Za-z_-]*+[\d.])[^\s'"\\]{6,}+
|-----BEGIN\ [A-Z\ ]{0,40}PRIVATE\ KEY-----.*?(?:-----END\ [A-Z\ ]{0,40}PRIVATE\ KEY-----|\Z)
"""
# `NAME=`, `"NAME": `, escaped or not, `${NAME:-`, or `--flag ` with a value to come.
_NAMED = (
    r"""(?<![A-Za-z0-9_.-])(?P<dashes>-*+)(?P<name>[A-Za-z_][A-Za-z0-9_.-]*+)"""
    r"""(?:(?:\\?["'])?[ \t]*+(?::[-=+?]|[=:])[ \t]*+|(?P<space>[ \t]++)(?!-))"""
)
# The value that follows; one that is itself a variable or is masked already is none.
_VALUE = (
    r"""(?!\$)(?:(?P<quote>\\"|"|')(?P<inner>.*?)(?P=quote)"""
    r"""|(?:\\?["'])?(?P<bare>(?:[^\s'",;&|)}\]\\]|[,;](?=[^\s'"]))++))"""
)
# Without one of these no pattern above can match: a cheap look before the expensive one.
_HINTS = _words(
    """
    hf_ sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat glpat- AKIA ASIA xox AIza eyJ :// earer uthoriz
    -----BEGIN key Key KEY token Token TOKEN secret SECRET Secret pass PASS Pass pwd PWD Pwd
    cred CRED Cred auth AUTH Auth _PAT _pat -pat bearer BEARER jwt JWT Jwt cookie Cookie COOKIE
    webhook WEBHOOK Webhook dsn DSN
    """
)
_HARMLESS_VALUES = _words("true false none null yes no auto on off empty dummy placeholder")
# What stands in a template for a secret: YOUR-KEY, your_api_token.
_TEMPLATE = r"your(?:[-_ ][a-z]{1,12}){0,3}[-_ ](?:key|token|secret|password)"


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns, compiled the first time a text looks suspicious."""
    looks = re.compile(_LOOKS, re.VERBOSE | re.DOTALL)
    return looks, re.compile(_NAMED), re.compile(_VALUE, re.DOTALL)


@cache
def _part() -> re.Pattern[str]:
    return re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


# wandb's keys have 40 hexadecimal digits, as commits have: a commit stands in a path or is named.
_HEX_DIGITS = 40


@cache
def _hexadecimal() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9/_.@-])(?<!commit )(?<!commit=)(?<!revision )(?<!revision=)(?<!sha )"
        rf"[0-9a-f]{{{_HEX_DIGITS}}}(?![A-Za-z0-9/_.-])"
    )


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Tell whether a flag's or variable's name says that its value is a secret.

    Whole parts count: ``--wandb-key`` and ``HF_TOKEN`` are, ``--max-tokens-per-gpu``,
    ``--input-key`` and ``TOKENIZERS_PARALLELISM`` are not.
    """
    if f"--{name.lstrip('-')}" in _COLUMN_FLAGS or not any(hint in name for hint in _HINTS):
        return False
    parts = [part.lower() for part in _part().findall(name)]
    said = set(parts)
    if said & _STRONG:
        return not said & _PLACES
    weak = said & _WEAK
    if not weak or said & _OTHER_MEANINGS:
        return False
    if weak <= _OWNED:
        return bool(said & _OWNERS)
    return weak != {"token"} or parts[-1] == "token"


class Redactor:
    """Masks the secrets of one launch in any text.

    Texts it has learned are masked wherever they occur; what looks like a credential or is
    assigned to a name that says secret is masked where it stands.
    """

    __slots__ = ("_known", "_order", "_words")

    def __init__(
        self,
        argv: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        """Learn the secrets among the words, the variables' values and texts known to be some."""
        self._known: set[str] = set()
        self._words: set[str] = set()
        for text in secrets:
            self._learn(text)
        for name, value in (variables or {}).items():
            if is_secret_name(name):
                self._learn(value)
        previous = ""
        whole = "\0".join(argv)
        hints = [hint for hint in _HINTS if hint in whole]
        for word in argv:
            name, equals, value = word.partition("=")
            if equals and is_secret_name(name):
                self._learn(value)
            elif previous[:2] == "--" and "=" not in previous and is_secret_name(previous):
                self._learn(word)
            elif any(hint in word for hint in hints):
                self._learn_named(word)
            previous = word
        self._order = sorted(self._known, key=len, reverse=True)

    def _learn(self, text: str) -> None:
        """Remember a secret; words that start with ``--``, numbers and the like are none."""
        if not _is_secret_value(text):
            return
        if len(text) >= _SHORTEST:
            # a report may have made it visible, or literal in markdown, before it comes here
            self._known |= {text, inert(text), prose(text)}
        elif len(text) >= _SHORTEST_WORD and text.isalnum():
            self._words.add(text)

    def _learn_named(self, text: str) -> None:
        """Remember what a text, a JSON value for one, gives to names that say secret."""
        for _, _, secret in _named_values(text):
            self._learn(secret)
        for credential in _patterns()[0].finditer(text):
            self._learn(credential.group())

    def redact(self, text: str) -> str:
        """Return ``text`` with every secret written ``${REDACTED}``; all else stays as it is."""
        for secret in self._order:
            if secret in text:
                text = text.replace(secret, REDACTED)
        for secret in self._words:
            if secret in text:
                text = re.sub(rf"(?<![\w-]){re.escape(secret)}(?![\w-])", REDACTED, text)
        if self._order and CUT in text:
            text = CUT.join(self._without_ends(text.split(CUT)))
        if len(text) >= _HEX_DIGITS:
            text = _hexadecimal().sub(REDACTED, text)
        if not any(hint in text for hint in _HINTS):
            return text
        return _mask_named(_patterns()[0].sub(REDACTED, text))

    def _without_ends(self, pieces: list[str]) -> Iterator[str]:
        """Yield the pieces of a text that was cut, without what is left of a secret at a cut."""
        last = len(pieces) - 1
        for index, piece in enumerate(pieces):
            begin, end = 0, len(piece)
            for secret in self._order:
                sizes = range(min(len(secret), len(piece)), _SHORTEST - 1, -1)
                if index < last:
                    left = next((n for n in sizes if piece.endswith(secret[:n])), 0)
                    end = min(end, len(piece) - left)
                if index > 0:
                    begin = max(begin, next((n for n in sizes if piece.startswith(secret[-n:])), 0))
            head, tail = REDACTED * (begin > 0), REDACTED * (end < len(piece))
            yield f"{head}{piece[begin : max(begin, end)]}{tail}"

    def redact_words(self, words: Iterable[str]) -> list[str]:
        """Return the words of a command with the secrets masked, each as a whole word.

        The value after a flag whose name says secret is masked even when it is too short to
        be masked elsewhere.
        """
        masked: list[str] = []
        previous = ""
        for word in words:
            flagged = previous[:2] == "--" and "=" not in previous and is_secret_name(previous)
            masked.append(REDACTED if flagged and _is_secret_value(word) else self.redact(word))
            previous = word
        return masked


def _is_secret_value(text: str) -> bool:
    """Tell whether a value can be a secret: no flag, number, variable or placeholder is."""
    if text[:2] == "--" or text.strip() == "" or text.lower() in _HARMLESS_VALUES:
        return False
    if text.startswith(("${", "$(")) and text.endswith(("}", ")")):
        return False
    if text[:4].lower() == "your" and re.fullmatch(_TEMPLATE, text, re.IGNORECASE):
        return False
    return not text.replace(".", "", 1).replace("_", "").lstrip("-").isdecimal()


def _named_values(text: str) -> Iterator[tuple[int, re.Match[str], str]]:
    """Yield where a value begins, its match and the secret, for every name that says secret."""
    _, named, value_of = _patterns()
    done = 0
    for match in named.finditer(text):
        if match.start() < done or not is_secret_name(match["name"]):
            continue
        if match["space"] and match["dashes"] != "--":
            continue  # prose: "the key is", not "--wandb-key abc"
        value = value_of.match(text, match.end())
        if value is None:
            continue
        secret = value["inner"] or value["bare"] or ""
        if _is_secret_value(secret):
            yield match.end(), value, secret
            done = value.end()


def _mask_named(text: str) -> str:
    """Return ``text`` with the values masked that stand behind a name which says secret."""
    pieces: list[str] = []
    done = 0
    for start, value, _ in _named_values(text):
        quote = value["quote"] or ""
        pieces.append(f"{text[done:start]}{quote}{REDACTED}{quote}")
        done = value.end()
    return "".join([*pieces, text[done:]])

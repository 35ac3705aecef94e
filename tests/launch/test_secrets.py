"""Secrets never leave; ordinary words stay as they are."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given as samples
from hypothesis import strategies as st

from perf_doctor.launch.registry import registry
from perf_doctor.launch.secrets import REDACTED, Redactor, is_secret_name

HEX = "0123456789abcdef0123456789abcdef01234567"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"WANDB_API_KEY={HEX}", HEX),
        (f'{{"env_vars": {{"WANDB_API_KEY": "{HEX}", "A": "1"}}}}', HEX),
        (f'"{{\\"WANDB_API_KEY\\": \\"{HEX}\\"}}"', HEX),
        (f"wandb login --wandb-key {HEX} --lr 1", HEX),
        (f"--wandb-key={HEX}", HEX),
        ("HF_TOKEN=abcdef", "abcdef"),
        ("token hf_AbCdEfGhIjKlMnOpQrSt end", "hf_AbCdEfGhIjKlMnOpQrSt"),
        ("use sk-proj-abcdefghijklmnopqrst now", "sk-proj-abcdefghijklmnopqrst"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz"),
        ("github_pat_11ABCDEFG0123456789_abc", "11ABCDEFG0123456789"),
        ("glpat-abcdefghij1234567890", "abcdefghij1234567890"),
        ("AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
        ("xoxb-1234567890-abcdefghij", "1234567890-abcdefghij"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890abcdefghijklmnopqrstuv"),
        (JWT, "eyJzdWIiOiIxMjM0NTY3ODkwIn0"),
        ("https://me:hunter2@host/x", "hunter2"),
        ("redis://:s3cr3t@host:6379", "s3cr3t"),
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ("-H 'Authorization: Basic dXNlcjpwYXNz'", "dXNlcjpwYXNz"),
        (PEM, "MIIEow"),
        ("AWS_SECRET_ACCESS_KEY='abc def'", "abc def"),
        ("password: hunter2", "hunter2"),
        ("MYSQL_PWD=hunter2;", "hunter2"),
        ("--opd-teacher-api-key hunter2", "hunter2"),
        ("dbPassword=hunter2", "hunter2"),
        ("""--runtime-env-json='{"env_vars": {"HF_TOKEN": "abc"}}'""", "abc"),
        ('env="HF_TOKEN=abc"', "abc"),
        ("${HF_TOKEN:-abc}", "abc"),
        ('HF_TOKEN="abcdef', "abcdef"),
        ("A=1,HF_TOKEN=abc,B=2", "abc"),
        ("PASSWORD=ab,cd;ef rest", "cd;ef"),
        ("SWANLAB_API_KEY: 'abc123def'", "abc123def"),
    ],
)
def test_planted_secrets_are_masked(text: str, secret: str) -> None:
    """By their name or by their look, in JSON, assignments, headers, addresses."""
    masked = Redactor().redact(text)
    assert secret not in masked
    assert REDACTED in masked


@pytest.mark.parametrize(
    "text",
    [
        "--max-tokens-per-gpu 9216",
        "--moe-token-dispatcher-type alltoall",
        "--input-key prompt --label-key answer --reward-key score --eval-reward-key acc",
        "--tool-key tools --metadata-key metadata",
        """--multimodal-keys '{"image": "images"}'""",
        "--eval-input-key problem --opd-teacher-image-key images --opd-teacher-key teacher_name",
        "TOKENIZERS_PARALLELISM=false",
        "--moe-token-drop-policy probs",
        "--sglang-max-total-tokens 100000 --log-probs-max-tokens-per-gpu 4096",
        "--tokenizer-model /data/Qwen3-4B --tokenizer-type HuggingFaceTokenizer",
        "http://host:8265/api",
        "--rollout-stop-token-ids 151645",
        "KEY_PATH=/root/x",
        "--sglang-router-api-key --lr 1",
        "commit " + HEX,
        "--attention-backend flash --author someone",
        "--kv-channels 128 --no-wait -- python3 -m relax.entrypoints.train",
        "WANDB_API_KEY=${WANDB_API_KEY} HF_TOKEN=$(cat x)",
        '"NCCL_KEY_CACHE": "1"',
        "HF_TOKEN= ",
        "--wandb-key YOUR-KEY --sglang-api-key EMPTY",
        '{"key": "prompt", "keys": ["a"]}',
        "${WANDB_API_KEY:-}",
    ],
)
def test_false_friends_stay(text: str) -> None:
    """Names of columns, counts of tokens, paths, switches, variables."""
    assert Redactor(text.split()).redact(text) == text


def test_learned_secrets_are_masked_everywhere() -> None:
    """The value of a secret flag or variable, also inside another word or a comment."""
    redactor = Redactor(
        ["--wandb-key", HEX, "--lr", "1"],
        {"HF_TOKEN": "my-hf-token", "MODEL_DIR": "/data/models", "PORT_TOKEN": "12"},
        ["plain-secret"],
    )
    text = f"# key {HEX}, my-hf-token and plain-secret in /data/models, port 12"
    assert redactor.redact(text) == (
        f"# key {REDACTED}, {REDACTED} and {REDACTED} in /data/models, port 12"
    )


def test_short_secrets_are_masked_as_words_of_their_own() -> None:
    """Four or five letters and digits; inside another word they are part of that word."""
    redactor = Redactor(["--wandb-key", "a1b2c", "--router-api-key", "abc"])
    told = "the last value wins: a1b2c, not xa1b2c, a1b2c-d or abc"
    assert redactor.redact(told) == (f"the last value wins: {REDACTED}, not xa1b2c, a1b2c-d or abc")


def test_words_stay_words() -> None:
    """Short values after a secret flag are masked, a flag after it never is."""
    words = ["--wandb-key", "abc", "--wandb-key", "--lr", "1", "--router-api-key", "k=v"]
    masked = Redactor(words).redact_words(words)
    assert masked == ["--wandb-key", REDACTED, "--wandb-key", "--lr", "1", "--router-api-key",
                      REDACTED]  # fmt: skip


def test_json_stays_json() -> None:
    """A runtime environment can still be parsed after masking."""
    text = json.dumps({"env_vars": {"WANDB_API_KEY": HEX, "HF_TOKEN": "abcdef", "A": "b"}})
    masked = json.loads(Redactor().redact(text))
    assert masked["env_vars"] == {"WANDB_API_KEY": REDACTED, "HF_TOKEN": REDACTED, "A": "b"}


def test_the_options_that_hold_secrets() -> None:
    """Every option of the registry whose name says secret, so that a new one is noticed."""
    assert {flag for flag in registry() if is_secret_name(flag)} == {
        "--wandb-key",
        "--router-oracle-password",
        "--router-api-key",
        "--router-control-plane-api-keys",
        "--sglang-ssl-keyfile-password",
        "--sglang-api-key",
        "--sglang-admin-api-key",
    }


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("IMAGE_REGISTRY_PASSWORD", True),
        ("NEW_RELIC_LICENSE_KEY", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("githubToken", True),
        ("KEY", False),
        ("HF_TOKEN_PATH", False),
        ("token-usage", False),
        ("keyboard", False),
        ("authority", False),
        ("passes", False),
        ("KV_CACHE_KEY", False),
    ],
)
def test_names_count_by_whole_parts(name: str, secret: bool) -> None:
    """Passwords always, keys and tokens where they are somebody's."""
    assert is_secret_name(name) is secret


HOSTILE = [
    *("a" * 200_000, "key='" * 50_000, "a-" * 100_000, "eyJ" * 70_000, "k=" * 100_000),
    *("k='" * 70_000, "--k " * 60_000, "://:" * 60_000, "-----BEGIN PRIVATE KEY-----" * 9_000),
    *('key=\\"' * 50_000, "token=(" * 40_000, "Bearer " * 40_000),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_takes_linear_time(text: str) -> None:
    """No pattern searches the same text over and over."""
    start = time.perf_counter()
    Redactor().redact(text + " key token bearer ")
    assert time.perf_counter() - start < 2


@samples(st.text(), st.text(min_size=6, alphabet="abcdefghijklmnopXYZ0123456789-_/+"))
def test_a_known_secret_never_survives_and_masking_twice_changes_nothing(
    text: str, secret: str
) -> None:
    """Whatever stands around it."""
    if secret.lstrip("-").replace("_", "").isdecimal() or secret.startswith("--"):
        return
    redactor = Redactor(secrets=[secret])
    masked = redactor.redact(text + secret + text)
    if secret not in REDACTED:
        assert secret not in masked.replace(REDACTED, "")
    assert redactor.redact(masked) == masked


def test_ordinary_words_cost_microseconds() -> None:
    """A word without any hint is not searched."""
    redactor = Redactor(["--lr", "1e-6"])
    start = time.perf_counter()
    for _ in range(1000):
        redactor.redact("--tensor-model-parallel-size")
    assert time.perf_counter() - start < 0.1

"""What real bash passes to a launch: the truth that the reader of scripts is compared with.

Only text of this project is run: scripts under ``examples/`` and ``tests/``, or a script that a
test wrote itself into a folder it names. Anything else is refused, because launch scripts from
elsewhere kill processes. A run sees an empty environment, a throw-away working directory and a
PATH of stubs: programs with an effect only write down their words, and the few real programs on
it (``dirname``, ``seq``, …) only compute.

``python tests/bash_oracle.py`` writes ``tests/examples/expected.json`` anew.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
EXAMPLES = PROJECT / "examples"
EXPECTED = PROJECT / "tests" / "examples" / "expected.json"
OWN_TREES = (EXAMPLES, PROJECT / "tests")
TIMEOUT_S = 10

STAMP = "2026-01-02-03:04:05"
"""What the stub ``date`` prints, whatever format is asked for."""

TRAINERS = ("relax.entrypoints.train", "train.py", "train_async.py")

# Programs that compute from their words and standard input and touch nothing else.
_PURE = ("dirname", "basename", "seq", "cat", "grep", "wc", "tr", "head", "tail", "cut", "sort",
         "sed", "uniq", "rev", "xargs", "paste")  # fmt: skip

# Each stub claims the lowest free number by creating it (noclobber), so that the records stand in
# the order in which bash started the programs and no two of them mix.
_RECORD = """#!{bash}
n=100000
until (set -C; : > "{log}/$n") 2> {null}; do n=$((n + 1)); done
printf '%s\\0' "${{0##*/}}" "$@" > "{log}/$n"
"""
_RECORDED = ("ray", "python", "python3", "torchrun", "nohup", "pip", "curl", "wget", "git", "ssh")
_STDBUF = """#!{bash}
while [ "${{1:0:1}}" = - ]; do shift; done
exec "$@"
"""
_ANSWERS = {
    "date": f"echo '{STAMP}'",
    "nvidia-smi": "echo 'GPU0 X NV18 NV18'",
    "hostname": "echo node-0",
    "tee": "cat",
    "mkdir": ":",
    "sleep": ":",
    "rm": ":",
    "cp": ":",
    "mv": ":",
    "touch": ":",
    "chmod": ":",
    "kill": ":",
    "pkill": ":",
    "killall": ":",
    "ulimit": ":",
}


class RefusedScriptError(ValueError):
    """The script is not this project's own, so it is not run."""


def bash_launches(
    script: str | Path,
    env: Mapping[str, str] | None = None,
    args: Sequence[str] = (),
    cwd: str | Path | None = None,
    *,
    written_by_test: str | Path | None = None,
) -> list[list[str]]:
    """Return the words of every launch that bash reaches in ``script``, in order.

    A launch is ``ray job submit …`` or a direct start of the trainer; its words begin with the
    program's name and end before redirections and pipes. ``env`` is the whole environment beside
    PATH and HOME. ``written_by_test`` names a folder in which the calling test has written the
    script itself; without it only the project's own trees are accepted.
    """
    path = Path(script).resolve()
    _refuse_what_is_not_ours(path, written_by_test)
    bash = shutil.which("bash")
    assert bash is not None, "the differential tests need bash"
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        stubs, log = _write_stubs(scratch, bash)
        home = scratch / "home"
        home.mkdir()
        _run(
            [bash, "--noprofile", "--norc", str(path), *args],
            env={"PATH": str(stubs), "HOME": str(home), **(env or {})},
            cwd=cwd or home,
        )
        records = [entry.read_bytes() for entry in sorted(log.iterdir())]
    commands = [[word.decode() for word in record.split(b"\0")[:-1]] for record in records]
    return [words for words in commands if is_launch(words)]


_CASES = f"""exec 3>&1 1>{os.devnull} 2>&1
ray() {{ printf '%s\\0' "$@" END-OF-COMMAND >&3; }}
for case; do
  ( set --; eval "$case" )
  printf '%s\\0' END-OF-CASE >&3
done
"""


def bash_words(cases: Sequence[str], env: Mapping[str, str] | None = None) -> list[list[list[str]]]:
    """Return, for each text, the arguments of every ``ray`` command that bash runs in it.

    The texts are pieces of shell that a test made up; each runs in a subshell of one bash, in an
    empty working directory, with the stubs as the only programs. A piece that is not valid shell,
    or that ends early, has the commands up to there.
    """
    bash = shutil.which("bash")
    assert bash is not None, "the differential tests need bash"
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        stubs, _ = _write_stubs(scratch, bash)
        home = scratch / "home"
        home.mkdir()
        driver = scratch / "cases.sh"
        driver.write_text(_CASES)
        output = _run(
            [bash, "--noprofile", "--norc", str(driver), *cases],
            env={"PATH": str(stubs), "HOME": str(home), "LC_ALL": "C.UTF-8", **(env or {})},
            cwd=home,
        )
    return _commands_by_case(output.decode(errors="replace").split("\0"))


def _commands_by_case(words: Sequence[str]) -> list[list[list[str]]]:
    found: list[list[list[str]]] = []
    commands: list[list[str]] = []
    command: list[str] = []
    for word in words[:-1]:
        if word == "END-OF-CASE":
            found.append(commands)
            commands, command = [], []
        elif word == "END-OF-COMMAND":
            commands.append(command)
            command = []
        else:
            command.append(word)
    return found


def _refuse_what_is_not_ours(path: Path, written_by_test: str | Path | None) -> None:
    trees = list(OWN_TREES)
    if written_by_test is not None:
        folder = Path(written_by_test).resolve()
        if not folder.is_relative_to(Path(tempfile.gettempdir()).resolve()):
            raise RefusedScriptError(f"{folder} is not a temporary folder")
        trees.append(folder)
    if not any(path.is_relative_to(tree) for tree in trees):
        raise RefusedScriptError(f"{path} is not one of this project's own scripts")


def _run(command: list[str], env: dict[str, str], cwd: str | Path) -> bytes:
    """Run bash to its end and return what it printed.

    After the time limit it is ended, with everything it started.
    """
    process = subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return output


def is_launch(words: Sequence[str]) -> bool:
    """Say whether a command starts the trainer: through ray, or directly."""
    if list(words[:3]) == ["ray", "job", "submit"]:
        return True
    return words[0].startswith("python") and any(w.endswith(TRAINERS) for w in words[1:4])


def split_program(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a launch into the program that is started and the words it is given."""
    rest = list(words)
    if "--" in rest and rest[0] == "ray":
        rest = rest[rest.index("--") + 1 :]
    for index, word in enumerate(rest):
        if word.endswith(TRAINERS):
            return rest[: index + 1], rest[index + 1 :]
    return rest, []


def _write_stubs(scratch: Path, bash: str) -> tuple[Path, Path]:
    stubs, log = scratch / "bin", scratch / "log"
    stubs.mkdir()
    log.mkdir()
    for name in _PURE:
        real = shutil.which(name)
        if real:
            (stubs / name).symlink_to(real)
    record = _RECORD.format(bash=bash, log=log, null=os.devnull)
    texts = dict.fromkeys(_RECORDED, record)
    texts |= {"stdbuf": _STDBUF.format(bash=bash)}
    texts |= {name: f"#!{bash}\n{body}\n" for name, body in _ANSWERS.items()}
    for name, text in texts.items():
        stub = stubs / name
        stub.write_text(text)
        stub.chmod(0o755)
    return stubs, log


BRANCHES: dict[str, tuple[dict[str, str], ...]] = {
    "scripts/training/multimodal/run-qwen3-vl-8B-8xgpu-image.sh": ({}, {"MODE": "async"}),
    "scripts/training/text/run-qwen36-35B-A3B-8xgpu.sh": ({}, {"ROLLOUT_PRECISION": "fp8"}),
    "scripts/training/text/run-qwen35-9B-8xgpu-hybrid-async.sh": ({}, {"TP": "2"}),
}
"""The environments in which an example is read; an example that is missing here has one, empty."""


def example_scripts() -> list[Path]:
    """Return the launch scripts of ``examples/``, in a fixed order."""
    return sorted(EXAMPLES.glob("scripts/training/*/run-*.sh"))


def expected_launches() -> list[dict[str, object]]:
    """Run every example in every branch; paths are written from ``{examples}``."""
    found: list[dict[str, object]] = []
    for path in example_scripts():
        name = path.relative_to(EXAMPLES).as_posix()
        for env in BRANCHES.get(name, ({},)):
            for words in bash_launches(path, env):
                program, argv = split_program(words)
                found.append({"script": name, "env": env, "program": program, "argv": argv})
    text = json.dumps(found).replace(json.dumps(str(EXAMPLES))[1:-1], "{examples}")
    rows: list[dict[str, object]] = json.loads(text)
    return rows


def _main() -> int:
    launches = expected_launches()
    document = {"date": STAMP, "launches": launches}
    EXPECTED.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    for launch in launches:
        sys.stdout.write(f"{launch['script']} {json.dumps(launch['env'])}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())

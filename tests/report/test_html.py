"""The page: one file that loads nothing, its markup its own, its figures those of the JSON."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from perf_doctor.diagnosis import Diagnosis, Doctor
from perf_doctor.report.document import document
from perf_doctor.report.flags import changed_flags
from perf_doctor.report.formats import Report
from perf_doctor.report.html import prose, render
from perf_doctor.rules.template import FlagChanges

PROJECT = Path(__file__).parent.parent.parent
EXAMPLE = "examples/scripts/training/text/run-qwen3-14B-8xgpu.sh"
EXAMPLES = sorted((PROJECT / "examples/scripts/training").rglob("*.sh"))
LAUNCH = "ray job submit -- python3 -m relax.entrypoints.train"
VOID = {"meta", "br"}
LOADS = {"src", "srcset", "href", "xlink:href", "action", "data", "poster", "style", "background"}


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


class Page(HTMLParser):
    """What a parser makes of a page: its tags, its cells, its text by the tag that holds it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    def told(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    @property
    def text(self) -> str:
        return "".join(text for name, text in self.texts if name != "style")


def page(*diagnoses: Diagnosis) -> Page:
    return Page(render(Report(diagnoses)))


def hostile(folder: Path) -> Diagnosis:
    path = folder / "x\"'><img src=http:⧸⧸evil>\x1b\n`.sh"
    flag = "$'--no\\x1b[31m\\n%0A```</code></pre><script>alert(1)</script>{{ 7*7 }}&lt;'"
    value = "$'\"\\x27><svg onload=alert(1)>\\n</style>`</title>http://evil/x.css'"
    path.write_text(f"{LAUNCH} --colocate {flag} 1 --load {value} --hf-checkpoint {value}\n")
    return Doctor().diagnose(str(path))


def memory_rows(doc: dict[str, Any]) -> list[list[float]]:
    """Return the figures of the table of memory as the JSON has them."""
    phases = doc["memory"]["phases"]
    names = [n for n in phases[0]["components"] if any(p["components"][n] > 0 for p in phases)]
    return [
        [
            *(phase["components"][name] for name in names),
            *(phase["total_gib"][end] for end in ("low", "expected", "high")),
        ]
        for phase in phases
    ]


def test_no_tag_and_no_attribute_comes_from_a_script(tmp_path: Path) -> None:
    harmless = page(*map(Doctor().diagnose, map(str, EXAMPLES)))
    forged = page(hostile(tmp_path))
    assert {tag for tag, _ in forged.tags} <= {tag for tag, _ in harmless.tags}
    names = {(tag, name) for tag, attrs in harmless.tags for name in attrs}
    assert {(tag, name) for tag, attrs in forged.tags for name in attrs} <= names
    for tag, attrs in forged.tags:
        for value in attrs.values():
            assert "evil" not in (value or ""), tag
            assert "alert" not in (value or ""), tag
    assert "<script>alert(1)</script>{{ 7*7 }}&lt;" in forged.text
    assert "><svg onload=alert(1)>" in forged.text


def test_every_character_of_a_script_is_visible_and_on_its_line(tmp_path: Path) -> None:
    text = render(Report((hostile(tmp_path),)))
    assert "\\x1b" in text
    assert all(char.isprintable() or char == "\n" for char in text)


def test_the_page_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    found = page(Doctor().diagnose(EXAMPLE), hostile(tmp_path))
    policy = next(a["content"] for a in found.of("meta") if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not found.of("script")
    assert not found.of("link")
    for _, attrs in found.tags:
        assert not any(name.startswith("on") for name in attrs)
        assert all((attrs[name] or "").startswith("#") for name in LOADS & attrs.keys())
    css = "".join(found.told("style"))
    assert css
    assert not re.search(r"url\(|@import|@font-face|https?:", css)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_the_figures_of_the_tables_are_those_of_the_json(script: Path) -> None:
    diagnosis = replace(Doctor().diagnose(str(script)), variants=())
    doc: dict[str, Any] = document(diagnosis)
    found = page(diagnosis)
    headed = {row[0]: row for row in found.rows}
    rows = [row for row in found.rows if len(row) > 4 and row[-1] != "high"]
    assert [list(map(float, row[1:])) for row in rows] == memory_rows(doc)
    for name, seconds in doc["time"]["phases"].items():
        pairs = [row for row in found.rows if len(row) == 2 and row[0] == name.replace("_", " ")]
        assert [float(row[1]) for row in pairs] == [seconds]
    assert all(flag in headed for flag in doc["launch"]["flags"])
    assert [row[:2] for row in found.rows if row[0].startswith("R-")] == [
        [rule["id"], rule["verdict"]] for rule in doc["rules"]
    ]
    for text in (*doc["context"]["assumptions"], *doc["time"]["assumptions"]):
        assert text.replace("`", "") in found.text


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_each_finding_says_its_fix_and_what_the_fix_does(script: Path) -> None:
    diagnosis = replace(Doctor().diagnose(str(script)), variants=())
    doc: dict[str, Any] = document(diagnosis)
    found = page(diagnosis)
    flags = [changed_flags(FlagChanges(f.fix.changes.set, ())) for f in diagnosis.findings]
    assert sorted(found.told("pre")) == sorted(filter(None, flags))
    for finding in doc["findings"]:
        assert finding["title"].replace("`", "") in found.text
        after = finding["after_fix"]
        if after is not None:
            pairs = (
                (doc["time"]["step_s"], after["step_s"], "s"),
                (doc["memory"]["peak_gib"], after["peak_gib"], "GiB"),
            )
            for before, then, unit in pairs:
                told = f"{before['expected']:.2f} {unit} → {then['expected']:.2f} {unit}"
                changed = abs(then["expected"] - before["expected"]) > 0.01 * before["expected"]
                assert (told in found.text) == changed


def test_bars_are_as_long_as_their_figures() -> None:
    diagnosis = Doctor().diagnose(EXAMPLE)
    doc: dict[str, Any] = document(diagnosis)
    found = page(diagnosis)
    line = next(a for a in found.of("line") if a.get("class") == "limit")
    per_gib = float((line["x1"] or "").rstrip("%")) / doc["memory"]["capacity_gib"]
    amounts = [
        amount for p in doc["memory"]["phases"] for amount in p["components"].values() if amount > 0
    ]
    parts = [a for a in found.of("rect") if (a.get("class") or "").startswith("part ")]
    widths = [float((a["width"] or "").rstrip("%")) for a in parts]
    assert widths[: len(amounts)] == pytest.approx([a * per_gib for a in amounts], abs=0.01)
    seconds = [s for s in doc["time"]["phases"].values() if s]
    shares = widths[len(amounts) :]
    assert [w / sum(shares) for w in shares] == pytest.approx(
        [s / sum(seconds) for s in seconds], abs=0.001
    )


def test_the_page_can_be_read_without_eyes_or_mouse() -> None:
    found = page(*map(Doctor().diagnose, map(str, EXAMPLES)))
    assert found.of("html") == [{"lang": "en"}]
    assert {"header", "nav", "main", "footer", "h1"} <= {tag for tag, _ in found.tags}
    assert all(attrs.get("scope") in ("col", "row") for attrs in found.of("th"))
    ids = [attrs["id"] for _, attrs in found.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = [attrs["aria-labelledby"] for _, attrs in found.tags if "aria-labelledby" in attrs]
    assert {word for names in named for word in (names or "").split()} <= set(ids)
    drawn = [attrs for attrs in found.of("svg") if attrs.get("role") == "img"]
    assert len(drawn) == len(found.of("desc"))
    assert len(found.of("details")) == len(found.of("summary")) == len(found.of("table"))


def test_the_colours_of_the_components_have_one_contrast() -> None:
    css = "".join(page(Doctor().diagnose(EXAMPLE)).told("style"))
    names = Doctor().diagnose(EXAMPLE).memory.phases[0].components._asdict()
    cards = re.findall(r"--card: (#\w{6})", css)
    assert len(cards) == 2
    for index, card in enumerate(cards):
        colours = [re.findall(rf"--{name}: (#\w{{6}})", css)[index] for name in names]
        assert len(set(colours)) == len(names)
        found = [contrast(colour, card) for colour in colours]
        assert min(found) >= 4.5
        assert max(found) / min(found) < 1.02


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, WCAG 2.2."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_code_span_is_code_and_all_else_is_text() -> None:
    assert prose("a `--x <b>` & `` ` `` <i>") == (
        "a <code>--x &lt;b&gt;</code> &amp; <code>`</code> &lt;i&gt;"
    )
    assert prose("an open ` mark") == "an open ` mark"


def test_a_secret_of_the_script_is_masked(tmp_path: Path) -> None:
    secret = "hf_" + "AbCd1234" * 4
    path = tmp_path / f"{secret}.sh"
    path.write_text(f"export HF_TOKEN={secret}\n{LAUNCH} --colocate --load /x/{secret} --no-x y\n")
    assert secret not in render(Report((Doctor().diagnose(str(path)),)))


def test_each_launch_has_a_part_and_a_link_to_it() -> None:
    diagnoses = tuple(map(Doctor().diagnose, map(str, EXAMPLES)))
    found = page(*diagnoses)
    launches = len(diagnoses) + sum(len(one.variants) for one in diagnoses)
    assert launches > len(diagnoses)
    parts = [attrs["id"] for attrs in found.of("article")]
    assert len(parts) == launches
    assert [a["href"] for a in found.of("a")] == ["#main", *(f"#{part}" for part in parts)]


def test_a_job_without_estimates_says_so(tmp_path: Path) -> None:
    path = tmp_path / "bare.sh"
    path.write_text(f"{LAUNCH} --colocate\n")
    diagnosis = Doctor().diagnose(str(path))
    assert diagnosis.time.step_s is None
    found = page(diagnosis)
    assert "not known" in found.text
    told = [text for tag in ("dd", "p", "small", "span") for text in found.told(tag)]
    assert not any("None" in text for text in told if text != "None.")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_figures(tmp_path: Path) -> None:
    diagnosis = Doctor().diagnose(EXAMPLE)
    doc: dict[str, Any] = document(diagnosis)
    file = tmp_path / "page.html"
    file.write_text(render(Report((diagnosis,))), encoding="utf-8")
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu"]
    quiet = ["--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*browser, *quiet, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    shown = Page(done.stdout)
    rows = [row for row in shown.rows if len(row) > 4 and row[-1] != "high"]
    assert [list(map(float, row[1:])) for row in rows] == memory_rows(doc)
    assert f"{doc['time']['step_s']['expected']:.2f}" in shown.text
    assert f"{doc['memory']['peak_gib']['expected']:.2f}" in shown.text

"""Known-good configurations: what a section is made of, the error a broken one is, matching."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import perf_doctor
from perf_doctor.data import table
from perf_doctor.launch.settings import read_settings
from perf_doctor.plan.plan import build_plan
from perf_doctor.rules.baselines import (
    BUILT_IN,
    NOT_MEASURED,
    OPTIONAL,
    REQUIRED,
    built_in_baselines,
    load_baselines,
)
from perf_doctor.rules.deviations import SIZES, SWITCHES, closest, deviations, quotes
from perf_doctor.rules.model import CatalogError
from perf_doctor.shell.model import Place, Word

SECTION = """\
### Qwen3-4B, 8 GPUs, colocate

- **Model:** Qwen3-4B
- **GPUs:** 8 (actor 8, rollout 8)
- **Mode:** colocate
- **Data:** text
- **Card:** H20
- **Accelerator:** gpu
- **Settings:** `--tensor-model-parallel-size 2 --global-batch-size 128
  --use-dynamic-batch-size --max-tokens-per-gpu 10240`
- **Leaves out:** `--optimizer-cpu-offload --recompute-granularity`
- **Measured:** 87 % utilisation.
- **Source:** a run
- **Date:** 2026-07
- **Good for:** dense
  models.
- **Note:** Nothing.
"""


def load(text, file="mine.md"):
    return load_baselines([(text, file)])


def the_error(text):
    with pytest.raises(CatalogError) as caught:
        load(text)
    (error,) = caught.value.errors
    return error


def plan(extra="", without=(), model="Qwen3-4B"):
    words = {
        "--resource": '{"actor":[1,8],"rollout":[1,8]}',
        "--colocate": None,
        "--hf-checkpoint": f"/models/{model}",
        "--tensor-model-parallel-size": "2",
        "--rollout-batch-size": "16",
        "--n-samples-per-prompt": "8",
        "--global-batch-size": "128",
        "--use-dynamic-batch-size": None,
        "--max-tokens-per-gpu": "10240",
        "--rollout-num-gpus-per-engine": "1",
    }
    split = extra.split()
    words |= {
        flag: None if i + 1 == len(split) or split[i + 1].startswith("--") else split[i + 1]
        for i, flag in enumerate(split)
        if flag.startswith("--")
    }
    argv = [
        word
        for flag, value in words.items()
        if flag not in without
        for word in ((flag,) if value is None else (flag, value))
    ]
    return build_plan(read_settings([Word(word, Place("run.sh", 1, 1)) for word in argv]))


def said(extra="", text=SECTION, **more):
    return {d.flag: d.sentence for d in deviations(load(text), plan(extra, **more))}


# --- a section ----------------------------------------------------------------------------------


def test_a_section_is_read_whole():
    (baseline,) = load(SECTION)
    assert (baseline.title, baseline.models) == ("Qwen3-4B, 8 GPUs, colocate", ("Qwen3-4B",))
    assert (baseline.gpus, baseline.mode, baseline.modality) == (8, "colocate", "text")
    assert (baseline.accelerator, baseline.task) == ("gpu", "rl")
    assert baseline.settings.value("--max-tokens-per-gpu") == 10240
    assert baseline.leaves_out == ("--optimizer-cpu-offload", "--recompute-granularity")
    assert (baseline.measured, baseline.source) == ("87 % utilisation.", "a run")
    assert (baseline.date, baseline.good_for) == ("2026-07", "dense models.")
    assert baseline.place.line == 1


def test_one_that_was_not_measured_says_so():
    (baseline,) = load(SECTION.replace("87 % utilisation.", NOT_MEASURED))
    assert baseline.measured is None


def test_optional_fields_may_be_absent():
    text = re.sub(r"- \*\*(Card|Accelerator|Leaves out|Note):\*\*.*\n", "", SECTION)
    (baseline,) = load(text)
    assert baseline.accelerator == "gpu"
    assert baseline.leaves_out == ()


WRONG = [
    # what is changed, into what, the text the error points at, what it says
    ("- **Model:**", "- **Modell:**", "**Modell", "no field 'Modell'; did you mean 'Model'?"),
    ("- **Date:** 2026-07\n", "", "### Qwen", "the field Date is missing"),
    ("- **Date:** 2026-07", "- **Data:** text", "**Data:** text\n- **Good", "stands here twice"),
    ("  models.", "models.", "models.", "this line belongs to no field"),
    ("  models.", "  - models.", "  - models.", "this line belongs to no field"),
    ("dense\n  models.", "", "**Good", "Good for: the field is empty"),
    ("Qwen3-4B\n", "Qwen3-4\n", "Qwen3-4\n", "Model: 'Qwen3-4' is not in the table of models"),
    ("8 (actor 8, rollout 8)", "eight", "eight", "GPUs: a number of GPUs"),
    ("8 (actor 8, rollout 8)", "0", "0\n- **Mode", "GPUs: a number of GPUs"),
    (" colocate\n- **Data", " colocated\n- **Data", "colocated", "did you mean 'colocate'?"),
    ("text\n", "txt\n", "txt", "Data: 'txt' is none of text, image"),
    ("Accelerator:** gpu", "Accelerator:** cuda", "cuda", "Accelerator: 'cuda' is none of gpu"),
    ("--global-batch-size", "--global-batch-sise", "--global-batch-sise", "did you mean '--glob"),
    ("size 2 --g", "size two --g", "--tensor", "Settings: argument --tensor-model-parallel-size"),
    ("size 2 --g", "size 2 3 --g", "3 --g", "Settings: no option takes '3'"),
    ("10240`", "10240 --max-tokens-per-gpu 1`", "--max-tokens-per-gpu 1`", "stands here twice"),
    ("10240`", "10240", "`--tensor", "Settings: flags stand in one pair of backquotes"),
    ("--recompute-granularity`", "--recompute`", "--recompute`", "there is no option --recompute"),
    ("`--optimizer-cpu-offload ", "`--use-dynamic-batch-size ", "--use-dynamic-batch-size --rec",
     "Leaves out: --use-dynamic-batch-size is among the Settings too"),
    ("87 % utilisation.", "it is fast", "it is fast", "Measured: a measurement has numbers"),
    ("2026-07", "July 2026", "July", "Date: a date reads 2026-07"),
    ("2026-07", "2026-13", "2026-13", "Date: a date reads 2026-07"),
    ("### Qwen3-4B, 8 GPUs, colocate", "###", "###", "a heading reads"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "at", "message"), WRONG)
def test_a_broken_section_is_one_error_with_place_field_and_nearest_name(old, new, at, message):
    assert old in SECTION
    text = SECTION.replace(old, new, 1)
    error = str(the_error(text))
    before = text[: text.index(at)].split("\n")
    assert error.startswith(f"mine.md:{len(before)}:{len(before[-1]) + 1}: "), error
    assert message in error


def test_every_broken_section_is_named_and_a_heading_is_taken_once():
    other = SECTION.replace("### Qwen3-4B", "### Other").replace("2026-07", "now")
    with pytest.raises(CatalogError) as caught:
        load(f"{SECTION}\n{other}\n{SECTION}")
    assert [error.message[:12] for error in caught.value.errors] == ["a date reads", "this heading"]
    assert "mine.md:1" in caught.value.errors[1].message


def test_prose_and_fences_outside_sections_are_no_sections():
    text = (
        f"# Title\n\nWords.\n\n```\n{SECTION}```\n\n## Part\n\n{SECTION}\n## Template\n\nWords.\n"
    )
    assert len(load(text)) == 1


def test_only_the_sections_of_one_model_are_worked_out():
    broken = SECTION.replace("Qwen3-4B", "Qwen3-8B").replace("2026-07", "now")
    assert len(load_baselines([(f"{SECTION}\n{broken}", "mine.md")], "Qwen3-4B")) == 1
    of_model = [b.title for b in built_in_baselines() if "Qwen3-4B" in b.models]
    assert [b.title for b in built_in_baselines("Qwen3-4B-Instruct-2507")] == of_model
    assert built_in_baselines("a model of mine") == ()


# --- the closest one ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "model", "matches"),
    [
        ("", "Qwen3-4B", True),
        ("", "Qwen3-4B-Instruct-2507", True),
        ("", "Qwen3-8B", False),
        ("", "Qwen3-VL-4B-Instruct", False),
        ("", "mine", False),
        ('--resource {"actor":[1,4],"rollout":[1,4]}', "Qwen3-4B", True),
        ('--resource {"actor":[1,16],"rollout":[1,16]}', "Qwen3-4B", True),
        ('--resource {"actor":[1,2],"rollout":[1,2]}', "Qwen3-4B", False),
        ('--resource {"actor":[1,32],"rollout":[1,32]}', "Qwen3-4B", False),
        ('--loss-type sft --resource {"actor":[1,8],"sft":[1,0]}', "Qwen3-4B", False),
    ],
)
def test_a_match_is_the_same_model_and_task_and_gpus_within_a_factor_of_two(extra, model, matches):
    assert (closest(load(SECTION), plan(extra, model=model)) is not None) is matches


def test_another_kind_of_card_is_no_match():
    assert closest(load(SECTION.replace(":** gpu", ":** npu")), plan()) is None


def test_the_same_mode_then_data_then_gpus_then_a_measurement_decide():
    def variant(title, **changes):
        text = SECTION.replace("### Qwen3-4B, 8 GPUs, colocate", f"### {title}")
        for name, value in changes.items():
            text = re.sub(rf"\*\*{name}:\*\* .*", f"**{name}:** {value}", text)
        return text

    worst_first = [
        variant("mode", Mode="hybrid"),
        variant("data", Data="image"),
        variant("gpus", GPUs="16"),
        variant("measured", Measured=NOT_MEASURED),
        variant("best"),
    ]
    for kept in range(len(worst_first)):
        several = load("\n".join(worst_first[: kept + 1]))
        assert closest(several, plan()) is several[-1]


# --- what is quoted -----------------------------------------------------------------------------


def test_a_job_like_the_baseline_has_nothing_to_quote():
    assert said() == {}


@pytest.mark.parametrize(
    ("tokens", "quoted"), [(2560, True), (2561, False), (40959, False), (40960, True)]
)
def test_a_size_is_quoted_from_two_doublings_on(tokens, quoted):
    sentences = said(f"--max-tokens-per-gpu {tokens}")
    assert ("--max-tokens-per-gpu" in sentences) is quoted
    if quoted:
        assert sentences["--max-tokens-per-gpu"] == (
            f"Baseline “Qwen3-4B, 8 GPUs, colocate” has `--max-tokens-per-gpu 10240`, "
            f"this job {tokens}."
        )


def test_a_switch_that_stands_the_other_way_is_quoted():
    sentences = said("--optimizer-cpu-offload --recompute-granularity full")
    assert sentences == {
        "--optimizer-cpu-offload": "Baseline “Qwen3-4B, 8 GPUs, colocate” runs without "
        "`--optimizer-cpu-offload`.",
        "--recompute-granularity": "Baseline “Qwen3-4B, 8 GPUs, colocate” runs without "
        "`--recompute-granularity`.",
    }
    off = said("--micro-batch-size 1", without=["--use-dynamic-batch-size"])
    assert off["--use-dynamic-batch-size"].endswith("runs with `--use-dynamic-batch-size`.")


def test_one_that_was_not_measured_is_quoted_as_such():
    text = SECTION.replace("87 % utilisation.", NOT_MEASURED)
    (sentence,) = said("--optimizer-cpu-offload", text).values()
    assert sentence.startswith(f"Baseline “Qwen3-4B, 8 GPUs, colocate” ({NOT_MEASURED}) runs")


def test_what_a_baseline_does_not_state_is_not_compared():
    text = re.sub(r"- \*\*Leaves out:\*\*.*\n", "", SECTION).replace(
        "--global-batch-size 128\n  ", ""
    )
    more = "--rollout-batch-size 128 --global-batch-size 1024 --optimizer-cpu-offload"
    assert said(more, text) == {}


def test_a_token_budget_without_effect_is_not_compared():
    sentences = said("--max-tokens-per-gpu 81920", without=["--use-dynamic-batch-size"])
    assert "--max-tokens-per-gpu" not in sentences


def test_expert_sizes_of_a_dense_job_are_not_compared():
    text = SECTION.replace("`--tensor", "`--expert-tensor-parallel-size 1 --tensor")
    assert said("--tensor-model-parallel-size 4", text) == {}


def test_quotes_are_the_sentences_about_the_flags_of_a_finding():
    found = deviations(load(SECTION), plan("--optimizer-cpu-offload --max-tokens-per-gpu 81920"))
    assert len(found) == 2
    assert quotes(found, ["--optimizer-cpu-offload", "--no-such-flag"]) == found[1].sentence
    assert quotes(found, [d.flag for d in found]) == f"{found[0].sentence} {found[1].sentence}"
    assert quotes(found, ["--tensor-model-parallel-size"]) == ""


def test_another_spelling_of_an_option_is_the_same_option():
    text = SECTION.replace("`--tensor", "`--sglang-expert-parallel-size 8 --tensor")
    (found,) = deviations(load(text), plan("--sglang-ep 1"))
    assert found.flag == "--sglang-expert-parallel-size"
    assert quotes([found], ["--sglang-ep"]) == quotes([found], [found.flag]) == found.sentence


def test_the_examples_find_their_baselines():
    root = Path(__file__).parents[2] / "examples/scripts/training"
    expected = {
        "text/run-qwen3-4B-8xgpu.sh": "Qwen3-4B, 8 GPUs, colocate",
        "text/run-qwen36-35B-A3B-8xgpu.sh": "Qwen3.6-35B-A3B, 8 GPUs, colocate",
        "text/run-qwen36-35B-A3B-16xgpu-async.sh": "Qwen3.5-35B-A3B, 16 GPUs, fully-async",
        "text/run-qwen35-9B-8xgpu-hybrid-async.sh": "Qwen3.5-9B, 8 GPUs, hybrid",
        "sft/run-qwen35-9B-8xgpu.sh": "Qwen3.5-9B, 8 GPUs, fine-tuning",
        "text/run-qwen3-14B-8xgpu.sh": None,
    }
    for script, title in expected.items():
        found = closest(built_in_baselines(), perf_doctor.diagnose(str(root / script)).plan)
        assert (found.title if found else None) == title, script


# --- the page that comes with the program -------------------------------------------------------


def page():
    return Path(BUILT_IN).read_text("utf-8")


def test_the_page_has_ten_configurations_or_more_and_some_are_measured():
    baselines = built_in_baselines()
    assert len(baselines) >= 10
    assert sum(baseline.measured is not None for baseline in baselines) >= 5
    assert {b.mode for b in baselines} >= {"colocate", "fully-async", "hybrid", "sft"}


def test_the_contents_list_names_every_section_in_order():
    listed = re.findall(r"^- \[(.+)\]\(#(.+)\)( – measured)?$", page(), re.MULTILINE)
    expected = []
    for baseline in built_in_baselines():
        anchor = re.sub(r"[^\w\- ]", "", baseline.title.lower()).replace(" ", "-")
        expected.append((baseline.title, anchor, " – measured" if baseline.measured else ""))
    assert listed == expected


def test_a_title_says_model_gpus_and_mode():
    for baseline in built_in_baselines():
        model, gpus, mode = baseline.title.split(", ")[:3]
        assert model in baseline.models
        assert gpus == f"{baseline.gpus} GPUs"
        assert mode == ("fine-tuning" if baseline.mode == "sft" else baseline.mode)


def test_models_of_one_section_have_one_shape():
    for baseline in built_in_baselines():
        shapes = [table("architectures")[model]["flags"] for model in baseline.models]
        assert all(shape == shapes[0] for shape in shapes)


def test_every_compared_option_exists():
    (baseline,) = load(SECTION)
    for flag in (*SIZES, *SWITCHES):
        baseline.settings.value(flag)


def test_the_template_names_the_fields_and_becomes_a_section_once_it_is_filled_in():
    template = page().split("## Template")[1].split("````")[1].removeprefix("markdown\n")
    assert set(re.findall(r"\*\*(.+?):\*\*", template)) == {*REQUIRED, *OPTIONAL}
    filled = re.sub(r" +\[[^\]]*\]$", "", template, flags=re.MULTILINE).replace(" …", "")
    (baseline,) = load(filled)
    assert baseline.models == ("Qwen3-8B",)


def test_markdown_it_sees_the_same_sections_and_fields():
    seen, title = [], None
    tokens = MarkdownIt().parse(page())
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            title = tokens[index + 1].content if token.tag == "h3" else None
            if title:
                seen.append((title, []))
        elif token.type == "inline" and title and (m := re.match(r"\*\*(.+?):\*\*", token.content)):
            seen[-1][1].append(m[1])
    assert [title for title, _ in seen] == [baseline.title for baseline in built_in_baselines()]
    for _, names in seen:
        assert set(names) >= set(REQUIRED)
        assert set(names) <= {*REQUIRED, *OPTIONAL}


@given(st.text(), st.integers(0, 20), st.integers(0, 20))
@settings(max_examples=200, deadline=None)
def test_any_damage_to_a_page_is_an_error_of_ours_or_none(damage, at, length):
    lines = SECTION.split("\n")
    lines[at : at + length] = [damage]
    errors = ()
    try:
        load("\n".join(lines))
    except CatalogError as caught:
        errors = caught.errors or (None,)
    assert all(error.place.file == "mine.md" for error in errors)

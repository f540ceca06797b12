"""The page: nothing in it comes from elsewhere, nothing in a name is markup, and a browser draws it."""

import html.parser
import io
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.histories import History, histories
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.statistics import Statistics
from jaxdoctor.reports.formats.html import FORMAT
from jaxdoctor.reports.web.counter_chart import counter_chart
from jaxdoctor.reports.web.horizon_chart import horizon_chart
from jaxdoctor.reports.web.share_chart import share_chart
from jaxdoctor.reports.wording import evidence
from tests.sample_reports import CHECKPOINTS, EMPTY, GOLDEN, HAND, HOSTILE, HUGE

CHROMIUM = shutil.which("chromium")


def page(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return out.getvalue()


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.open, self.addresses = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.addresses += [value for name, value in attributes if name in {"href", "src", "srcset", "action"}]
        assert not [name for name, _ in attributes if name.startswith("on")]
        if tag not in {"meta", "input", "wbr", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, _attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("report", [GOLDEN, EMPTY, HOSTILE], ids=["golden", "empty", "hostile"])
def test_every_element_is_ours_and_closed(report):
    """One script, the page's own, whatever a name holds; and no address but of rule pages and sections."""
    tags = Tags(page(report))

    assert tags.open == []
    assert tags.seen.count("script") == 1
    assert not {"img", "link", "iframe", "object", "base", "form"} & set(tags.seen)
    assert all(re.match(r"#|https://github\.com/jaxdoctor/", address) for address in tags.addresses)


def test_the_policy_lets_nothing_be_fetched():
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page(GOLDEN))

    assert policy.startswith("default-src &#x27;none&#x27;; ")
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    assert not re.search(r"url\(|@import|fetch\(", page(GOLDEN))


def places(chart, element, **attributes):
    root = ET.fromstring(chart)
    wanted = "".join(f"[@{name.rstrip('_')}='{value}']" for name, value in attributes.items())
    return root.findall(f".//{element}{wanted}")


def test_the_share_chart_marks_the_delivered_and_the_required_bits():
    """Both lines stand where the axis has 10 and 14, and the band between them is what is missing."""
    chart = share_chart(HAND)
    words = [element.text for element in places(chart, "text")]
    delivered, required = (
        float(places(chart, f"g[@class='{kind}']/line")[0].get("x1")) for kind in ("delivered", "required")
    )
    (band,) = places(chart, "rect", class_="band missing")

    assert {"rtx-4090 delivers 10", "requires 14"} <= set(words)
    assert delivered < required
    assert float(band.get("x")) == delivered
    assert float(band.get("width")) == pytest.approx(required - delivered, abs=0.2)


def test_the_share_chart_has_a_whisker_for_each_interval():
    """61 of 64 failed: the whisker goes from 87 % to 98 %, so it is short and near the top."""
    chart = share_chart(HAND)

    whiskers = places(chart, "line", class_="whisker")
    assert len(whiskers) == len(HAND.trials)
    assert len(places(chart, "g", class_="native bad")) == 1
    assert all(float(line.get("y1")) <= float(line.get("y2")) for line in whiskers)


def test_the_horizon_chart_has_chaos_beside_each_bar():
    chart = horizon_chart(HAND)

    bars = [element for element in ET.fromstring(chart) if (element.get("class") or "").startswith("horizon")]
    assert len(bars) == 6
    assert all(bar.find("line[@class='chaos']") is not None for bar in bars)


def test_the_counter_chart_puts_what_wrapped_at_its_limit():
    """A counter that fell below zero has passed its limit, not gone far below it."""
    wrapped = tuple(
        replace(
            saved,
            leaves=tuple(
                replace(leaf, value=-5) if leaf.path == "env_steps" and saved.step == 300 else leaf
                for leaf in saved.leaves
            ),
        )
        for saved in CHECKPOINTS
    )
    (steps,) = [one for one in histories(Series(path="run", checkpoints=wrapped)) if one.leaf == "env_steps"]

    chart = counter_chart([steps], [100, 200, 300])
    (line,) = places(chart, "polyline")
    heights = [float(point.split(",")[1]) for point in line.get("points").split()]

    assert steps.share == 1.0
    assert len(places(chart, "circle", class_="bad")) == 1
    assert heights[2] < heights[1] < heights[0]


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(subject="x", trials=(), verdict=Verdict.UNKNOWN, reason="time"),
        replace(HAND, required_bits=None),
        replace(HAND, required_bits=52, delivered_bits=23),
        replace(HAND, required_bits=3, delivered_bits=3),
    ],
    ids=["no trials", "required unknown", "beyond float32", "no margin"],
)
def test_an_outcome_with_gaps_still_has_a_page(outcome):
    Tags(page(Report(command="probe", subject="x", examined=1, outcomes=(outcome,))))


def test_a_single_save_has_a_chart_too():
    chart = counter_chart(histories(Series(path="run", checkpoints=CHECKPOINTS[:1])), [100])

    assert len(places(chart, "circle")) == 3


def test_ten_thousand_findings_stay_a_page():
    assert page(HUGE).count("<tr>") == 10_001


if CHROMIUM is not None:  # CI installs it

    @pytest.mark.parametrize("report", [GOLDEN, HOSTILE], ids=["golden", "hostile"])
    def test_a_browser_draws_it_and_runs_its_script(report, tmp_path):
        """The script's last line leaves a mark, so a policy that blocked it or an error in it would show."""
        path = tmp_path / "report.html"
        text = page(report)
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0",
                "--virtual-time-budget=2000", "--dump-dom", path.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
        )  # fmt: skip

        assert 'data-ready="yes"' in done.stdout
        assert "CONSOLE" not in done.stderr
        assert done.stdout.count("<script>") == 1


def test_a_save_that_holds_nan_is_marked_in_the_chart():
    """The run's third save has an error; the first two are drawn without a mark."""
    text = page(GOLDEN)

    assert text.count('class="error-mark"') == 1
    assert "<title>JD301</title>" in text
    assert 'class="error-mark"' not in page(replace(GOLDEN, findings=()))


def test_a_counter_that_is_nan_is_drawn_and_not_computed_with():
    steps = (1, 2)
    saved = tuple(
        Checkpoint(
            path=f"run/{step}",
            format="npz",
            step=step,
            leaves=(Leaf(path="count", dtype="float32", shape=(), role=Role.COUNTER, value=value),),
        )
        for step, value in zip(steps, (5.0, float("nan")), strict=True)
    )

    text = page(replace(EMPTY, series=(Series(path="run", checkpoints=saved),)))

    assert 'cy="nan"' not in text


@pytest.mark.parametrize("wanted", [True, False])
def test_leaves_where_they_are_asked_for(wanted):
    """With dtype, shape, role, extremes, zeros and what is not finite; names are still no markup."""
    seen = Statistics(size=8, seen=8, sampled=8, zeros=2, minimum=-0.25, maximum=1.5, nan=3)
    leaves = (
        Leaf(path="net/<b>kernel", dtype="bfloat16", shape=(2, 4), role=Role.PARAMETER, statistics=seen),
        Leaf(path="unread", dtype="int32", shape=()),
    )
    saved = Checkpoint(path="run/7", format="orbax", leaves=leaves)
    report = Report(
        command="scan-checkpoint", subject="run", examined=1, checkpoints=(saved,), with_leaves=wanted
    )
    drawn = page(report)

    cells = re.sub(r"<wbr ?/?>", "", drawn)
    for text in ("net/&lt;b&gt;kernel", ">bfloat16<", ">2x4<", ">-0.25<", ">1.5<", ">25 %<", ">scalar<"):
        assert (text in cells) is wanted
    assert Tags(drawn).open == []


def test_evidence_is_told_in_words():
    """No Python on a page for people: names without underscores, numbers separated, nothing that is empty."""
    values = {
        "required_bits": 13,
        "failed": {"f32": 0, "tf32": 2300},
        "also_in": ["a/1", "a/2"],
        "sure": False,
        "share": 0.123456,
        "first": None,
        "leaves": [],
    }

    words = "required bits 13; failed: f32 0, tf32 2,300; also in a/1, a/2; sure no; share 0.1235"
    assert evidence(values) == words


def test_products_are_folded_and_the_exit_code_has_its_meaning():
    text = page(GOLDEN)

    assert '<details class="folded"><summary>5 rows: ' in text
    assert "exit code 1: findings fail it" in text


def test_neighbouring_saves_with_the_same_codes_have_them_written_once():
    """Five saves in a row with NaN, and one far before them whose counter wrapped."""
    history = History(leaf="step", dtype="int32", values=tuple(range(1, 41)), limit=100)
    errors = {5: "JD311", **dict.fromkeys(range(35, 40), "JD301")}

    drawn = str(counter_chart([history], list(range(40)), errors))

    assert drawn.count('class="error-mark"') == 6
    assert (drawn.count(">JD311</text>"), drawn.count(">JD301</text>")) == (1, 1)

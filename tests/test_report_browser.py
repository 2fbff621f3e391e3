"""The page of the report in a browser: it draws, answers, and runs nothing that came with the data."""

import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from reports import ALIKE, HOSTILE, everything, named_tasks

from skmtl import MultiTaskRegressor
from skmtl.model_selection import interval_coverage
from skmtl.penalties import Fixed, Sparse
from skmtl.plotting.names import tell_apart
from skmtl.report import render, summarize
from skmtl.report.page import LABEL

CHROMIUM = os.environ.get("SKMTL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "no Chromium: install it, or name it in SKMTL_CHROMIUM"
NAMES = [f"task {letter}" for letter in "abcdefghijkl"]
EDGES = (
    "[...document.querySelectorAll('.view:not([hidden]) .edges .edge')].filter(e => e.style.display !== 'none').length"
)
# Some of which beginnings and ends tell apart, and some not.
LONG = [*ALIKE, "temperature of the sensor on the roof", "pressure in the second vessel (mbar)"]
SHOWN = ".view:not([hidden])"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        # Where changes are tested before they are merged it must be there; on a laptop the other tests are enough.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


# For the session: in a random order tests of other modules come between.
@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Pages in files, with the estimators they are of."""
    folder, rng = tmp_path_factory.mktemp("pages"), np.random.default_rng(0)
    many = named_tasks(rng, [f"task {t}" for t in range(100)], n=150, n_groups=12, noise=2.0)
    alike = named_tasks(rng, LONG)
    problems = {
        "alike": (
            MultiTaskRegressor(Sparse(0.9), alpha=1e-2).fit(*alike),
            {"intervals": interval_coverage(MultiTaskRegressor(), *alike)},
        ),
        "usual": everything(rng, NAMES, n_groups=4),
        "hostile": everything(rng, HOSTILE),
        "many": (MultiTaskRegressor("trace", tol=1e-3).fit(*many), {}),
        "bare": (MultiTaskRegressor("independent").fit(*named_tasks(rng, NAMES)), {}),
        "one": (MultiTaskRegressor().fit(*named_tasks(rng, ["only"])), {}),
    }
    made = {}
    for name, (est, results) in problems.items():
        file = folder / f"{name}.html"
        file.write_text(render(summarize(est, **results)), encoding="utf-8")
        made[name] = SimpleNamespace(est=est, results=results, url=file.as_uri(), size=file.stat().st_size)
    return made


@pytest.fixture
def visit(browser, pages):
    """Open a page and watch what it does; at the end nothing may have gone wrong."""
    contexts, wrong, requests = [], [], []

    def open_page(name, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(pages[name].url)
        page.wait_for_function("document.querySelector('#theme').textContent !== ''")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
    assert all(url.startswith("file:") for url in requests)
    assert len(requests) == len(contexts)


def colours(page, selector):
    """How many colours a canvas shows."""
    return page.evaluate(
        """selector => {
            const canvas = document.querySelector(selector);
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            const found = new Set();
            for (let k = 0; k < data.length; k += 4) found.add(data.slice(k, k + 4).join());
            return found.size;
        }""",
        selector,
    )


def middle_of_strongest_edge(page):
    page.locator(f"{SHOWN} .graph-canvas").scroll_into_view_if_needed()
    return page.evaluate(
        """() => {
            const edges = document.querySelectorAll(".view:not([hidden]) .edges .edge");
            const box = [...edges].pop().getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }"""
    )


def look_at_predictive(page):
    page.get_by_text("To predict with", exact=True).click()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_graphs_and_heat_map_are_drawn(visit, pages):
    page = visit("usual")
    stable = pages["usual"].results["stability"].query("stable")
    assert page.evaluate(EDGES) == len(stable) > 1
    assert page.locator(f"{SHOWN} .node").count() == len({*stable["task_a"], *stable["task_b"]})
    look_at_predictive(page)
    relations = pages["usual"].est.relations()
    assert page.evaluate(EDGES) == len(relations) > 5
    assert page.locator(f"{SHOWN} .node").count() == len({*relations["task_a"], *relations["task_b"]})
    assert page.locator(SHOWN).count() == 1
    assert colours(page, "#matrix-canvas canvas") > 5
    assert page.locator("#path-canvas .curve").count() > 5


def test_no_line_crosses_a_name_where_there_is_room(browser, tmp_path):
    """Of a chain of four tasks, and beside it a pair."""
    X, Y = named_tasks(np.random.default_rng(0), [f"quantity number {t}" for t in range(6)])
    A = np.eye(6)
    for a, b, weight in ((0, 1, 0.4), (1, 2, 0.5), (2, 3, 0.3), (4, 5, 0.4)):
        A[a, b] = A[b, a] = weight
    file = tmp_path / "page.html"
    file.write_text(render(summarize(MultiTaskRegressor(Fixed(A)).fit(X, Y))), encoding="utf-8")
    for width in (390, 1400):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(file.as_uri())
        page.wait_for_selector(".node text", state="attached")
        found = page.evaluate(
            """() => {
                const names = [...document.querySelectorAll(".node text:not(.crowded)")];
                const boxes = names.map(e => e.getBBox());
                const within = (box, x, y) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
                const lines = [...document.querySelectorAll(".edges line")];
                const along = (line, k) => ["x", "y"].map(v =>
                    line[v + 1].baseVal.value * (1 - k / 500) + line[v + 2].baseVal.value * k / 500);
                return [boxes.length, lines.length, boxes.filter(box => lines.some(line =>
                    [...Array(501).keys()].some(k => within(box, ...along(line, k))))).length];
            }"""
        )
        assert found == [6, 4, 0]
        page.close()


def open_path(browser, summary, folder, width=1280):
    """A page whose path is drawn."""
    file = folder / "page.html"
    file.write_text(render(summary), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(file.as_uri())
    page.wait_for_selector("#path-canvas .axis text")
    return page


def tick_labels(page):
    return page.locator("#path-canvas .axis text[text-anchor=end]:not(.flag)").all_text_contents()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("mus", [(0.9, 0.4), (0.95, 0.9), (0.9, 0.95), (0.32, 0.3), (0.3, 0.95), (0.5, 0.45)])
def test_no_line_of_a_mu_passes_through_words(browser, pages, tmp_path, width, mus):
    summary = summarize(pages["usual"].est, **pages["usual"].results)
    summary["mu"], summary["stability_mu"] = mus
    page = open_path(browser, summary, tmp_path, width)
    lines, words, first = page.evaluate(
        """() => {
            const svg = document.querySelector("#path-canvas svg");
            const box = e => { const b = e.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; };
            const all = [...svg.querySelectorAll(".chosen")].map(e => ["x1", "y1", "y2"].map(v => e[v].baseVal.value));
            return [all, [...svg.querySelectorAll(".flag")].map(box), box(svg.querySelector(".title"))];
        }"""
    )
    assert (len(lines), len(words)) == (2, 2)
    assert all(left >= 0.0 and right <= width for left, _, right, _ in words)
    for left, top, right, bottom in [*words, first]:
        assert not any(left < x < right and y1 < bottom and y2 > top for x, y1, y2 in lines)
        assert sum(left < b and a < right and top < d and c < bottom for a, c, b, d in [*words, first]) == 1
    page.close()


def test_printed_tables_stay_within_the_margins(visit):
    # A sheet of A4 is 21 cm wide, and has margins of 1.3 cm.
    page = visit("usual", round(18.4 / 2.54 * 96))
    # The longest of all verdicts.
    page.locator("td.verdict").evaluate_all("es => es.forEach(e => { e.textContent = 'no better than a constant'; })")
    page.emulate_media(media="print")
    room = page.evaluate("document.querySelector('main > section').getBoundingClientRect().right")
    tables = page.locator("table:visible").evaluate_all("es => es.map(e => e.getBoundingClientRect().right)")
    assert len(tables) > 3
    assert max(tables) <= room


@pytest.mark.parametrize("n_tasks", [6, 16])
def test_a_printed_matrix_takes_no_more_than_two_fifths_of_a_page(browser, tmp_path, n_tasks):
    X, Y = named_tasks(np.random.default_rng(0), [f"quantity number {t}" for t in range(n_tasks)])
    file = tmp_path / "page.html"
    file.write_text(render(summarize(MultiTaskRegressor().fit(X, Y))), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(file.as_uri())
    page.wait_for_selector("#matrix-canvas canvas")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    # Of a sheet of A4, 29.7 cm high, with margins of 1.3 cm.
    assert page.locator("#matrix-canvas canvas").evaluate("e => parseFloat(e.style.height)") < 0.4 * 27.1 / 2.54 * 96
    page.close()


def test_ticks_between_weights_of_both_signs_hold_zero(browser, pages, tmp_path):
    summary = summarize(pages["usual"].est, **pages["usual"].results)
    ends, n_mus = (-0.34, 0.11), len(summary["path"]["mus"])
    curves = [{"a": 0, "b": 1, "weights": np.linspace(0.0, end, n_mus).tolist()} for end in ends]
    summary["path"]["curves"] = curves
    page = open_path(browser, summary, tmp_path)
    ticks = tick_labels(page)
    assert "0" in ticks
    assert not any("e-" in tick or "e\N{MINUS SIGN}" in tick for tick in ticks)
    page.close()


def test_ticks_look_different_and_count_whole_pairs(browser, pages, tmp_path):
    """Of few pairs, and of scores that hardly change along mu."""
    summary = summarize(pages["usual"].est, **pages["usual"].results)
    path = summary["path"]
    path["n_edges"] = [int(k > 1) for k in range(len(path["mus"]))]
    path["scores"], path["errors"] = np.linspace(0.9972, 0.9984, len(path["mus"])).tolist(), [0.0] * len(path["mus"])
    page = open_path(browser, summary, tmp_path)
    ticks = tick_labels(page)
    scores = [tick for tick in ticks if tick.startswith("0.99")]
    assert len(set(scores)) == len(scores) > 1
    # The last of two panels: pairs, then scores.
    first = ticks.index(scores[0])
    assert ticks[first - 2 : first] == ["0", "1"]
    page.close()


def test_many_pairs_are_counted_in_thousands(browser, pages, tmp_path):
    summary = summarize(pages["usual"].est, **pages["usual"].results)
    summary["path"]["n_edges"] = [k * 12345 for k in range(len(summary["path"]["mus"]))]
    graph = summary["graphs"][0]
    summary["graphs"] = [{**graph, "relations": graph["relations"][:1] * 1200}]
    page = open_path(browser, summary, tmp_path)
    assert "20,000" in tick_labels(page)
    axes = page.locator("#path-canvas .axis text")
    assert min(axes.evaluate_all("texts => texts.map(e => e.getBBox().x)")) >= 0
    page.locator("#path-canvas svg").focus()
    for _ in summary["path"]["mus"]:
        page.keyboard.press("ArrowRight")
    assert "24,690" in page.locator("#tip").inner_text()
    page.evaluate("document.querySelector('.graph-controls input').value = 0")
    page.evaluate("document.querySelector('.graph-controls input').dispatchEvent(new Event('input'))")
    assert page.locator(f"{SHOWN} .controls output").inner_text() == "all 1,200 shown"
    page.close()


def test_without_javascript_there_are_pictures(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["usual"].url)
    relations, stable = len(pages["usual"].est.relations()), int(pages["usual"].results["stability"]["stable"].sum())
    assert page.locator("svg.still:visible .edge").count() == relations + stable
    for label in ("Heat map of the structure", "The path along mu", "Observed and predicted"):
        box = page.get_by_label(label).first.bounding_box()
        assert min(box["width"], box["height"]) > 90
    assert page.locator("button:visible").count() == 0
    context.close()


def test_tables_sort(visit):
    page = visit("usual")
    head = page.locator(".method:visible thead").get_by_role("button", name="together")

    def together():
        cells = page.locator(".method:visible tbody td:nth-child(4)").all_inner_texts()
        return [float(cell.replace("\N{MINUS SIGN}", "-")) for cell in cells]

    head.click()
    assert together() == sorted(together(), reverse=True)
    head.click()
    assert together() == sorted(together())
    page.locator(".method:visible thead").get_by_role("button", name="task").click()
    names = page.locator(".method:visible tbody th").all_inner_texts()
    assert names == sorted(names)


@pytest.mark.parametrize("width", [390, 1400])
def test_names_alike_stay_apart_and_a_table_of_intervals_stays_on_the_page(visit, width):
    page = visit("alike", width)
    box = page.locator(".scroll:has(.coverage)")
    assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
    seen = page.locator(".coverage tbody th .name").evaluate_all("es => es.map(e => e.innerText.replace(/\\s/g, ''))")
    assert seen[: len(ALIKE)] == [label.replace(" ", "") for label in tell_apart(ALIKE, LABEL)]
    nodes = page.locator(f"{SHOWN} .node text").all_text_contents()
    assert len(nodes) == len(set(nodes)) == len(LONG)
    page.emulate_media(media="print")
    assert page.locator(".coverage tbody th .name").all_inner_texts() == LONG


def test_the_theme_is_remembered(browser, pages):
    context = browser.new_context(color_scheme="light")
    page = context.new_page()
    page.goto(pages["usual"].url)
    theme = "document.documentElement.dataset.theme || null"
    assert page.evaluate(theme) is None
    page.locator("#theme").click()
    # The same page, for browsers tell others of it in their own time.
    page.reload()
    assert page.evaluate(theme) == "dark"
    context.close()


def test_print_shows_whole_names_and_the_legend(visit):
    page = visit("hostile")
    long = HOSTILE[5]
    cell = page.locator(f'.scores bdi[title="{long}"]').first
    assert cell.bounding_box()["width"] < 300
    page.emulate_media(media="print")
    assert cell.evaluate("e => e.scrollWidth <= e.clientWidth + 1 || getComputedStyle(e).display === 'inline'")
    assert page.locator(f"{SHOWN} .legend .stroke").first.is_visible()
    assert page.locator(".print-only", has_text=long).is_visible()
    assert not page.locator("#view-controls").is_visible()


def test_the_slider_hides_the_weakest(visit, pages):
    page = visit("usual")
    look_at_predictive(page)
    total = len(pages["usual"].est.relations())
    slider = page.locator(f"{SHOWN} input[type=range]")
    for hidden in (1, total // 2, total - 1):
        slider.fill(str(hidden))
        assert page.evaluate(EDGES) == total - hidden
        assert page.locator(f"{SHOWN} .controls output").inner_text().startswith(f"{total - hidden} of {total} shown")


def test_pointing_shows_numbers(visit, pages):
    page = visit("usual")
    page.mouse.move(*middle_of_strongest_edge(page))
    assert "found on" in page.locator("#tip").inner_text()
    look_at_predictive(page)
    page.mouse.move(*middle_of_strongest_edge(page))
    strongest = pages["usual"].est.relations().iloc[0]
    words = page.locator("#tip").inner_text().replace("\N{MINUS SIGN}", "-")
    assert strongest["task_a"] in words
    assert strongest["task_b"] in words
    assert f"{strongest['weight']:.3g}" in words
    assert f"{strongest['correlation']:.3g}" in words
    page.mouse.move(1, 1)
    assert page.locator("#tip").is_hidden()


def test_the_keyboard_reaches_every_task_and_cell(visit, pages):
    page = visit("usual")
    page.locator(f"{SHOWN} input[type=range]").focus()
    page.keyboard.press("Tab")
    seen = set()
    for _ in range(page.locator(f"{SHOWN} .node").count()):
        seen.add(page.locator("#tip .head").inner_text())
        page.keyboard.press("ArrowRight")
    assert len(seen) == page.locator(f"{SHOWN} .node").count()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    page.locator("#matrix-canvas canvas").focus()
    page.keyboard.press("ArrowRight")
    assert "correlation" in page.locator("#tip").inner_text()
    page.locator("#path-canvas svg").focus()
    page.keyboard.press("ArrowRight")
    assert "mu = 0.3" in page.locator("#tip").inner_text()


def test_the_matrix_switches_to_correlation(visit):
    page = visit("usual")
    before = page.locator("#ramp-high").inner_text()
    page.get_by_text("Correlation", exact=True).first.click()
    assert page.locator("#ramp-high").inner_text() != before


def test_methods_take_turns(visit):
    page = visit("usual")
    assert page.locator(".method:visible caption").inner_text() == "sparse, R2 task by task"
    page.locator("#method-controls").get_by_text("trace").click()
    assert page.locator(".method:visible caption").inner_text() == "trace, R2 task by task"


def test_light_and_dark(visit):
    page = visit("usual", color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme").click()
    light = page.evaluate(background)
    assert sum(map(int, dark[4:-1].split(","))) < 200 < 600 < sum(map(int, light[4:-1].split(",")))


def test_hostile_names_do_not_run(visit):
    page = visit("hostile")
    page.wait_for_timeout(300)
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.images.length") == 0
    assert page.locator("section").count() == 9
    shown = page.evaluate("[...document.querySelectorAll('.scores bdi')].map(e => e.textContent)")
    assert set(HOSTILE) <= set(shown)
    look_at_predictive(page)
    # The page scrolls to what is focused, and a graph that passes beneath the pointer would be pointed at.
    page.mouse.move(0, 0)
    for k in range(page.locator(f"{SHOWN} .node").count()):
        page.locator(f"{SHOWN} .node").nth(k).focus()
        assert page.locator("#tip").is_visible()


def test_the_page_forbids_scripts_that_are_not_its_own(browser, pages):
    page = browser.new_page()
    blocked = []
    page.on("console", lambda message: blocked.append(message.text))
    page.goto(pages["usual"].url)
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
        }"""
    )
    page.evaluate("fetch('https://example.org').catch(() => null)")
    assert page.evaluate("window.ran") is None
    assert len(blocked) >= 2
    assert all("Content Security Policy" in text for text in blocked)
    page.close()


@pytest.mark.parametrize("name", ["usual", "hostile", "many", "bare", "one"])
@pytest.mark.parametrize("width", [390, 1400])
def test_no_page_scrolls_sideways(visit, name, width):
    page = visit(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_hundred_tasks_stay_usable(visit, pages):
    assert pages["many"].size < 10_000_000
    page = visit("many")
    # The graph is seen at once.
    assert page.locator(f"{SHOWN} .graph-canvas svg").bounding_box()["height"] <= 900
    # The strongest only, however far the slider is moved.
    assert page.evaluate(EDGES) == 100
    page.locator(f"{SHOWN} input[type=range]").fill("0")
    assert page.evaluate(EDGES) == 200
    page.mouse.move(*middle_of_strongest_edge(page))
    moves = page.evaluate(
        """() => {
            const svg = document.querySelector(".view:not([hidden]) .graph-canvas svg");
            const box = svg.getBoundingClientRect();
            const observer = new MutationObserver(() => {}), found = [];
            observer.observe(document.body, {attributes: true, childList: true, subtree: true});
            for (let k = 0; k < 20; k++) {
                svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.x + 30 * k, clientY: box.y + 20 * k}));
                const changes = observer.takeRecords();
                found.push([changes.length, changes.filter(change => change.target.closest(".edges")).length]);
            }
            return found;
        }"""
    )
    # A move of the pointer lights tasks and copies their edges; the thousands of edges that are drawn stay untouched.
    assert 0 < max(changes for changes, _ in moves) < 3 * 100
    assert sum(edges for _, edges in moves) == 0
    assert colours(page, "#matrix-canvas canvas") > 100


def test_every_word_has_enough_contrast(visit):
    """WCAG AA: 4.5 to 1 between text and what lies behind it, in both themes."""
    for theme in ("light", "dark"):
        page = visit("usual", color_scheme=theme)
        low = page.evaluate(
            """() => {
                const parts = text => text.match(/[\\d.]+/g).map(Number);
                const light = rgb => rgb.slice(0, 3).map(c => c / 255)
                    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
                const behind = element => {
                    for (let e = element; e; e = e.parentElement) {
                        const color = parts(getComputedStyle(e).backgroundColor);
                        if (color.length < 4 || color[3] > 0) return color;
                    }
                    return [255, 255, 255];
                };
                const found = [];
                for (const element of document.querySelectorAll("body *")) {
                    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
                    if (!own || !element.checkVisibility() || element.closest("script, noscript, .skip")) continue;
                    const style = getComputedStyle(element);
                    const ink = parts(element instanceof SVGElement ? style.fill : style.color);
                    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
                    if ((a + 0.05) / (b + 0.05) < 4.5)
                        found.push(`${element.tagName}.${element.getAttribute("class")} ${style.color}`);
                }
                return found;
            }"""
        )
        assert low == []

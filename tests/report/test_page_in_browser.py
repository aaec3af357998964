"""Reports in a browser: they work, ask for nothing, and can be used by everybody."""

import pytest

from hudi_pyspark import HudiTable
from tests.cli.command import in_process
from tests.damage import unpack
from tests.report.browser import chromium
from tests.report.hostile import NAME, PARTITION, hostile_table

pytestmark = pytest.mark.browser

TABLES = ["v9_mor_mdt_indexes", "v9_mor_archived", "v6_mor_failed_rolled_back"]
LANES = "document.querySelectorAll('#lanes .mark')"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages by name: of golden tables, of a hostile one, and an index."""
    folder = tmp_path_factory.mktemp("pages")
    for name in (*TABLES, "v9_mor_empty_table"):
        table = HudiTable(unpack(name, folder))
        table.report().save(folder / f"{name}.html")
    HudiTable(hostile_table(folder)).report().save(folder / "hostile.html")
    in_process("report", *(str(folder / name) for name in TABLES), "--to", str(folder / "site"))
    return {page.stem: page for page in folder.rglob("*.html") if page.parent.name != "site"} | {
        "index": folder / "site" / "index.html"
    }


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200, 1280, 2000])
@pytest.mark.parametrize("name", [*TABLES, "v9_mor_empty_table", "hostile", "index"])
def test_page_is_silent_fits_and_is_accessible(browser, pages, name, width, is_dark):
    browser.open(pages[name], width=width, is_dark=is_dark)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert browser.violations() == []
    assert browser.problems() == []
    assert browser.requests() == [pages[name].as_uri()]


def test_text_of_a_hostile_table_is_shown_as_it_is(browser, pages):
    browser.open(pages["hostile"])
    assert browser.run("return document.title").startswith(NAME)
    assert browser.texts("h1 bdi") == [NAME]
    assert PARTITION in browser.texts("#storage details tbody th bdi")
    browser.run(f"[...{LANES}].at(-1).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert PARTITION in browser.texts("#commit tbody th bdi")
    assert browser.all("img, script[src]") == []
    assert browser.problems() == []


@pytest.mark.parametrize("name", TABLES)
def test_figures_are_those_of_inspect(browser, pages, name):
    browser.open(pages[name])
    inspect = HudiTable(pages[name].with_suffix("")).inspect
    (row,) = inspect.statistics().to_pylist()
    read = "return [...document.querySelectorAll(arguments[0])].map((d) => Number(d.value))"
    cards = browser.run(read, ".cards data")
    size = row["base_bytes"] + row["log_bytes"]
    assert {size, row["stored_bytes"], row["file_groups"], row["partitions"]} <= set(cards)
    assert row["log_bytes"] in cards
    sizes = browser.run(read, "#storage details td:nth-child(4) data")
    assert sorted(sizes) == sorted(inspect.partitions()["bytes"].to_pylist())
    assert len(browser.all("#lanes .mark")) == inspect.timeline().num_rows
    written = browser.run(read, "#timeline details td:last-child data")
    assert sorted(written) == sorted(inspect.commits(archived=True)["written_bytes"].to_pylist())
    columns = browser.texts("#schema tbody th")
    assert columns == [
        n for n in HudiTable(pages[name].with_suffix("")).schema.names if n[0] != "_"
    ]


def test_timeline_is_zoomed_by_buttons_dragging_and_keys(browser, pages):
    from selenium.webdriver import ActionChains

    browser.open(pages[TABLES[1]])
    everything = browser.run(f"return {LANES}.length")

    def shown():
        return browser.run(f"return {LANES}.length")

    browser.all("[data-zoom=in]")[0].click()
    browser.all("[data-zoom=in]")[0].click()
    assert 0 < shown() < everything
    browser.all("[data-zoom=all]")[0].click()
    assert shown() == everything
    chart = browser.all("#lanes svg")[0]
    # From the middle of the chart to the right, between two lanes.
    ActionChains(browser.driver).move_to_element_with_offset(
        chart, 0, 60
    ).click_and_hold().move_by_offset(200, 0).release().perform()
    assert 0 < shown() < everything
    mark = browser.all("#lanes .mark[tabindex='0']")[0]
    browser.run("arguments[0].focus()", mark)
    browser.driver.switch_to.active_element.send_keys("0")
    assert shown() == everything


def test_commit_is_opened_by_click_and_by_keys(browser, pages):
    from selenium.webdriver import Keys

    browser.open(pages[TABLES[0]])
    table = HudiTable(pages[TABLES[0]].with_suffix(""))
    first, second, *_ = table.inspect.commits().to_pylist()
    browser.all("#lanes .mark[data-place='0'] rect")[0].click()
    assert first["requested_time"] in browser.texts("#commit h3")[0]
    files = table.inspect.commit_files(first["requested_time"]).to_pylist()
    paths = browser.texts("#commit tbody th")
    assert sorted(paths) == sorted({f["partition_path"] for f in files})
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert second["requested_time"] in browser.texts("#commit h3")[0]


def test_tables_are_sorted_by_their_heads(browser, pages):
    browser.open(pages[TABLES[0]])
    heads = browser.all("#storage > .scroll thead button")
    read = "return [...document.querySelectorAll(arguments[0])].map((c) => Number(c.dataset.sort))"
    for click in range(2):
        heads[5].click()  # bytes in log files
        sizes = browser.run(read, "#storage > .scroll td:nth-child(6)")
        assert sizes == sorted(sizes, reverse=click == 0)
    heads[0].click()
    names = browser.texts("#storage > .scroll tbody th")
    assert names == sorted(names)
    assert browser.all("#storage > .scroll [aria-sort=ascending] button") == [heads[0]]


def test_partition_is_found_by_its_tile(browser, pages):
    browser.open(pages[TABLES[0]])
    browser.all("#treemap .tile")[0].click()
    largest = browser.run(
        "return JSON.parse(document.getElementById('content').textContent).storage.partitions[0]"
    )
    assert browser.texts("#storage tr.chosen th") == [largest["partition_path"]]


def test_labels_of_tiles_leave_out_what_all_partitions_begin_with(browser, tmp_path):
    table = HudiTable(unpack("v9_cow_keygen_slashes", tmp_path))
    paths = table.inspect.partitions()["partition_path"].to_pylist()
    assert {path[:5] for path in paths} == {"2024/"}
    browser.open(table.report().save(tmp_path / "slashes.html"))
    labels = set(browser.texts("#treemap .tile-text"))
    assert {path[5:] for path in paths} <= labels
    assert not labels.intersection(paths)


def test_index_has_room_for_names_and_errors_at_1200_pixels(browser, tmp_path):
    unpack(TABLES[0], tmp_path / "tables")
    (tmp_path / "tables" / "broken" / ".hoodie").mkdir(parents=True)
    (tmp_path / "tables" / "broken" / ".hoodie" / "hoodie.properties").write_text("x")
    in_process("report", str(tmp_path / "tables"), "--to", str(tmp_path / "site"))
    browser.open(tmp_path / "site" / "index.html", width=1200)
    # Most of the page is left for an error, whose number of lines depends on paths and fonts.
    assert browser.run("return document.querySelector('tbody td[colspan]').offsetWidth") > 700
    wide = "const s = document.querySelector('.scroll'); return s.scrollWidth - s.clientWidth"
    assert browser.run(wide) <= 0
    browser.all("thead button")[3].click()  # sorted although the error takes many columns
    assert browser.texts("tbody th bdi")[-1] == "broken"


def test_theme_is_switched_and_days_become_commits(browser, pages):
    browser.open(pages[TABLES[1]])
    color = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(color)
    browser.all("#theme")[0].click()
    assert browser.run(color) != light
    browser.all("[data-unit=days]")[0].click()
    days = len(browser.all("#changed .bar"))
    browser.all("[data-unit=commits]")[0].click()
    assert (
        days
        < len(browser.all("#changed .bar"))
        == len(HudiTable(pages[TABLES[1]].with_suffix("")).inspect.commits(archived=True))
    )


def test_index_leads_to_its_pages_and_is_sorted(browser, pages):
    browser.open(pages["index"])
    states = browser.texts("tbody td:nth-child(2)")
    assert states == ["warning", "note", "note"]
    browser.all("thead button")[0].click()
    names = browser.texts("tbody a")
    assert names == sorted(names)
    browser.all("tbody a")[0].click()
    assert browser.texts("h1 bdi") == names[:1]


def test_print_has_the_charts_and_no_controls(browser, pages):
    browser.open(pages[TABLES[0]])
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    elements = "return [...document.querySelectorAll(arguments[0])]"
    shown = f"{elements}.map((e) => e.getBoundingClientRect().width > 0)"
    marks = browser.run(shown, "#changed .bar, #lanes .mark, .tile")
    assert len(marks) > 3
    assert all(marks)
    assert not any(browser.run(shown, "header.bar, .tools > button"))
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

"""Pictures of golden tables in every form, and what a missing extra says."""

import json
import re
import sys
from xml.etree import ElementTree

import pytest

from hudi_pyspark import HudiTable, InvalidOptionError

MOR = "v9_mor_compaction_inline"


@pytest.fixture
def table(golden_table):
    return HudiTable(str(golden_table(MOR)))


@pytest.fixture(params=["timeline", "file_groups"])
def drawn(request, table):
    return getattr(table.plot, request.param)()


def texts(svg):
    return [e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]


def test_notebook_shows_the_timeline_as_svg(table):
    shown = texts(table.plot.timeline()._repr_svg_())
    assert {f"{MOR} (MERGE_ON_READ)", "deltacommit", "compaction", "duration, seconds"} <= {*shown}


def test_notebook_shows_the_file_groups_as_svg(table):
    shown = texts(table.plot.file_groups()._repr_svg_())
    assert {"log files", "base file", "apac/036ebd41", "emea/d8903399"} <= {*shown}


def test_text_is_short_where_pictures_cannot_be_shown(drawn):
    assert repr(drawn) == f"Picture('{MOR} (MERGE_ON_READ)')"


def test_png_is_an_image_of_some_size(drawn, tmp_path):
    drawn.save(tmp_path / "p.png")
    content = (tmp_path / "p.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert width > 1400
    assert height > 300


def test_page_needs_no_network(drawn, tmp_path):
    drawn.save(str(tmp_path / "p.HTML"))
    page = (tmp_path / "p.HTML").read_text(encoding="utf-8")
    assert re.findall(r"<(?:script|link)[^>]+(?:src|href)=", page) == []
    assert MOR in page


def test_specification_can_be_saved_for_other_tools(drawn, tmp_path):
    drawn.save(tmp_path / "p.json")
    saved = json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert saved == drawn.spec
    assert saved["$schema"].endswith("vega-lite/v6.json")


def test_other_endings_are_refused_by_name(drawn, tmp_path):
    with pytest.raises(InvalidOptionError, match=r"must end in \.svg, \.png, \.html, \.json"):
        drawn.save(tmp_path / "p.gif")
    assert list(tmp_path.iterdir()) == []


def test_archived_instants_can_be_left_out(golden_table):
    plot = HudiTable(str(golden_table("v9_mor_archived"))).plot
    states = {
        archived: {m["state"] for m in plot.timeline(archived=archived).spec["data"]["values"]}
        for archived in (True, False)
    }
    assert states == {True: {"completed", "archived"}, False: {"completed"}}


def test_empty_table_has_pictures(golden_table):
    plot = HudiTable(str(golden_table("v9_mor_empty_table"))).plot
    assert "no instant yet" in texts(plot.timeline().to_svg())
    assert "no file group yet" in texts(plot.file_groups().to_svg())


def test_missing_extra_is_named(drawn, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ImportError, match="pip install vl-convert-python"):
        drawn.to_svg()

from itertools import combinations
from xml.etree import ElementTree

import pytest

from tests.project import package_map
from tests.project.pictures import FOLDER, pictures


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return pictures()


def texts(svg: str) -> list[str | None]:
    return [e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]


@pytest.mark.parametrize("name", ["timeline.svg", "file_groups.svg"])
def test_picture_of_the_docs_says_what_a_new_one_does(drawn, name):
    # Shapes may differ by a hair from release to release of the library, words may not.
    shipped = (FOLDER / name).read_text(encoding="utf-8")
    assert texts(shipped) == texts(drawn[name])


def test_map_of_the_package_shows_its_imports(drawn):
    shipped = (FOLDER / "package_map.svg").read_text(encoding="utf-8")
    assert shipped == drawn["package_map.svg"], "run: make docs"


def test_boxes_of_the_map_do_not_overlap():
    boxes = [(column, row) for column, row, _ in package_map.PLACES.values()]
    assert all(abs(a[0] - b[0]) >= 1 or a[1] != b[1] for a, b in combinations(boxes, 2))


def test_arrow_that_others_imply_is_not_drawn():
    graph = {"cli": {"scan", "table"}, "scan": {"table"}, "table": set[str]()}
    assert package_map.without_implied(graph) == [("cli", "scan"), ("scan", "table")]

from itertools import combinations

from tests.project import package_map


def test_map_of_the_package_shows_its_imports():
    shipped = package_map.FILE.read_text(encoding="utf-8")
    assert shipped == package_map.render(), "run: make docs"


def test_boxes_of_the_map_do_not_overlap():
    boxes = [(column, row) for column, row, _ in package_map.PLACES.values()]
    assert all(abs(a[0] - b[0]) >= 1 or a[1] != b[1] for a, b in combinations(boxes, 2))


def test_arrow_that_others_imply_is_not_drawn():
    graph = {"cli": {"scan", "table"}, "scan": {"table"}, "table": set[str]()}
    assert package_map.without_implied(graph) == [("cli", "scan"), ("scan", "table")]

from xml.etree import ElementTree

import pytest

from tests.project.pictures import FOLDER, pictures


def texts(svg: str) -> list[str | None]:
    return [e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]


@pytest.mark.parametrize("name", ["timeline.svg", "file_groups.svg"])
def test_picture_of_the_docs_says_what_a_new_one_does(name):
    # Shapes may differ by a hair from release to release of the library, words may not.
    shipped = (FOLDER / name).read_text(encoding="utf-8")
    assert texts(shipped) == texts(pictures()[name].to_svg())

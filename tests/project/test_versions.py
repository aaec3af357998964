"""`.ci/versions.py`: requirements of a group with other versions than its own."""

import pytest

from tests.project.ci_script import load

versions = load("versions")

PYPROJECT = {
    "project": {
        "dependencies": ["numpy>=1.26"],
        "optional-dependencies": {
            "spark": ["pyspark>=4.0"],
            "connect": ["pyspark[connect]>=4.0"],
            "pandas": ["pandas>=2.0,<3"],
        },
    },
    "dependency-groups": {
        "docs": ["mkdocs>=1.6,<2"],
        "test": [
            {"include-group": "docs"},
            "pytest>=8.0",
            "Pandas>=2.2,<3",
            "pyspark[connect]==4.3.*; python_version >= '3.11'",
            "pyspark[connect]==4.1.*; python_version < '3.11'",
        ],
    },
}


def test_lowest_versions_are_those_that_users_may_have():
    found = versions.requirements(PYPROJECT, "test", "lowest")
    assert found == [
        "numpy==1.26",
        "pyspark[connect]==4.0",
        "pandas==2.0",
        "mkdocs<2,>=1.6",
        "pytest>=8.0",
    ]


def test_chosen_pyspark_replaces_that_of_the_group_only():
    found = versions.requirements(PYPROJECT, "test", "pyspark-4.0")
    assert found == ["pyspark[connect]==4.0.*", "mkdocs<2,>=1.6", "pytest>=8.0", "Pandas<3,>=2.2"]


def test_unknown_choice_is_refused():
    with pytest.raises(
        ValueError, match=r"unknown versions 'oldest'; give lowest, or pyspark-4\.0"
    ):
        versions.requirements(PYPROJECT, "test", "oldest")


def test_dependency_without_a_lowest_version_is_refused():
    without = {**PYPROJECT, "project": {"dependencies": ["numpy"], "optional-dependencies": {}}}
    with pytest.raises(ValueError, match=r"numpy: needs one lowest version, as in 'numpy>=1'"):
        versions.requirements(without, "test", "lowest")


@pytest.mark.parametrize("choice", ["lowest", "pyspark-4.1"])
def test_script_prints_a_requirement_a_line(capsys, choice):
    assert versions.main(["test", choice]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("pyspark") for line in lines) == 1
    assert len(lines) > 20

"""The bill of materials that the wheel carries."""

import json

import pytest

from tests.project.ci_script import load

pytest.importorskip("cyclonedx")
sbom = load("sbom")

PROJECT = {
    "name": "hudi-pyspark",
    "version": "1.0.0",
    "description": "Reads",
    "license": "Apache-2.0",
    "dependencies": ["numpy>=1.26"],
    "optional-dependencies": {"pandas": ["pandas>=2.0,<3"]},
}


def test_bill_names_the_package_and_what_it_requires():
    bill = json.loads(sbom.bill_of_materials(PROJECT))
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/hudi-pyspark@1.0.0"
    scopes = {part["name"]: part["scope"] for part in bill["components"]}
    assert scopes == {"numpy": "required", "pandas": "optional"}


def test_bill_is_the_same_each_time():
    assert "timestamp" not in json.loads(sbom.bill_of_materials(PROJECT))["metadata"]
    assert sbom.bill_of_materials(PROJECT) == sbom.bill_of_materials(PROJECT)


def test_written_bill_is_that_of_pyproject():
    project = sbom.project_table(sbom.PROJECT)
    assert sbom.SBOM.read_text("utf-8") == sbom.bill_of_materials(project), "run make sbom"

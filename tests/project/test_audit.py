"""`.ci/audit.py`: what is looked up."""

from tests.project.ci_script import load


def test_extras_are_looked_up_too():
    project = {
        "dependencies": ["numpy>=1.26"],
        "optional-dependencies": {"cli": ["click>=8.1", "rich>=14.3"], "pandas": ["pandas<3"]},
    }
    wanted = ["numpy>=1.26", "click>=8.1", "rich>=14.3", "pandas<3"]
    assert load("audit").requirements(project) == wanted

"""Some tests of each folder pass without a user, a home folder and usual settings.

`make test-bare` runs all tests that need no Java in such a process.
"""

import subprocess

import pytest

from tests.project.bare_process import bare_python, obstacle, run_pytest

# Of each folder, files that take a second or two, and look at what such a process lacks.
TESTS = (
    "tests/catalogs/test_catalogs.py::test_polaris_exchanges_a_secret_for_a_token",
    "tests/cli/test_cache.py",
    "tests/format/test_column_names.py",
    "tests/doctor/test_environment.py",
    "tests/doctor/test_schema.py",
    "tests/filter/test_literals.py",
    "tests/format/test_properties.py",
    "tests/inspection/test_description.py",
    "tests/metadata_table/test_records.py",
    "tests/options",
    "tests/planning/test_time_travel.py",
    "tests/practice/test_no_home.py",
    "tests/reading/merge/test_loaded_log_on_disk.py",
    "tests/reading/test_file_states.py",
    "tests/report/test_facts.py",
    "tests/storage/test_aws_environment.py",
    "tests/storage/test_locations.py",
    "tests/table/test_timeline.py",
    "tests/test_html_table.py",
)


@pytest.fixture(autouse=True)
def _can_be_started():
    reason = obstacle()
    if reason:
        pytest.skip(reason)


def test_process_has_neither_a_user_nor_a_home():
    code = (
        "import pathlib, pwd, os, time\n"
        "for look in (pathlib.Path.home, lambda: pwd.getpwuid(os.getuid())):\n"
        "    try: print(look())\n"
        "    except (RuntimeError, KeyError) as error: print(type(error).__name__)\n"
        "print(time.timezone)"
    )
    with bare_python("-c", code) as (command, environment, folder):
        ended = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=True
        )
    assert ended.stdout.split() == ["RuntimeError", "KeyError", str(-14 * 3600)]


def test_some_tests_of_each_folder_pass_there():
    assert run_pytest(["-q", "-m", "not spark", *TESTS]) == 0

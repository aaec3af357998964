import inspect
import pickle
import re

import pytest

from hudi_pyspark import errors
from tests.project.errors_page import PAGE, error_classes, render

EXAMPLES = {
    "path": "city=sf/.f1-0_20250316025816068.log.1_0-1-0",
    "problem": "expected magic b'#HUDI#', found b'PAR1'",
    "offset": 18342,
    "record": 7,
    "field": "fare.amount",
    "attempts": 5,
    "advice": "Restore the file from a copy",
}


def example(error: type[errors.HudiError]) -> errors.HudiError:
    if "__init__" not in vars(error):
        return error("what was found, where, and what to do")
    names = list(inspect.signature(error).parameters)
    return error(*(EXAMPLES[name] for name in names))


each_class = pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.__name__)


@each_class
def test_error_survives_pickling(error):
    before = example(error)
    after = pickle.loads(pickle.dumps(before))
    assert (type(after), after.args, vars(after)) == (type(before), before.args, vars(before))
    assert str(after) == str(before)


@each_class
def test_message_begins_with_the_code_in_brackets(error):
    assert str(example(error)).startswith(f"[{error.code}] ")
    assert re.fullmatch(r"HUDI_[A-Z_]+", error.code)


@each_class
def test_message_has_every_argument(error):
    message = str(example(error))
    assert all(str(argument) in message for argument in example(error).args)


def test_every_class_has_a_code_of_its_own():
    codes = [error.code for error in error_classes()]
    assert len(set(codes)) == len(codes)


def test_every_exception_of_the_module_is_a_hudi_error():
    defined = {
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, BaseException)
    }
    assert defined == set(error_classes())


def test_page_of_the_docs_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == render(), "run: make docs"

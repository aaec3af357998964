import inspect
import pickle
import re
from collections.abc import Callable

import pytest

from hudi_pyspark import errors
from tests.project.errors_page import PAGE, error_classes, render

EXAMPLES = {
    "path": "city=sf/.f1-0_20250316025816068.log.1_0-1-0",
    "found": "expected magic b'#HUDI#', found b'PAR1'",
    "offset": 18342,
    "record": 7,
    "field": "fare.amount",
    "attempts": 5,
    "place": "partition 'sf'",
    "advice": "read older rows",
}


def example(error: Callable[..., errors.HudiError]) -> errors.HudiError:
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


@each_class
def test_no_error_is_an_error_of_python_which_callers_swallow(error):
    """Spark takes a NotImplementedError for "nothing to plan", and a library an OSError for EOF."""
    assert set(error.__mro__) <= {*error_classes(), Exception, BaseException, object}


@each_class
def test_message_consists_of_values(error):
    text = str(example(error))
    values = vars(example(error))
    for value in (values["place"], values["found"], values["advice"]):
        assert value in text


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

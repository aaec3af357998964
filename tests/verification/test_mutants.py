"""The mutants of ``make mutants``: what is mutated, and what names and excuses a mutant."""

import ast
import re
from pathlib import Path

import pytest

from verification.mutants.__main__ import PARTS, entry_of, load_reasons, modules, sample
from verification.mutants.mutations import mutants_of


def mutants(folder, body, head="def f(a, b, c=0):"):
    module = folder / "module.py"
    module.write_text(head + "\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    return mutants_of(module)


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("return a < b", {"return a <= b"}),
        ("return a is b", {"return a is not b"}),
        ("return a - b", {"return a + b"}),
        ("return a and b", {"return ((a) or (b))", "return ((b))", "return ((a))"}),
        ("return not a", {"return a"}),
        ("return a[-1]", {"return a[1]", "return a[-2]"}),
        ("return a == 'x'", {"return a != 'x'", "return a == 'x~'"}),
        ("return True", {"return False"}),
        ("return min(a)", {"return max(a)"}),
        ("return sorted(a)", {"return (a)"}),
        ("return f(a, c=b)", {"return f(a, )"}),
        ("return zip(a, b, strict=True)", set()),
        ("return [x for x in a if x]", {"return [x for x in a if (not (x))]"}),
        ("a |= b", {"a &= b"}),
        ("raise a", {"pass"}),
        ("a.append(b)", {"pass"}),
        ("a: int = b", set()),
        ('raise ValueError(f"{a} < {b}")', {"pass"}),
        ('_log.info("%s", a + b)', set()),
    ],
)
def test_mutants_of_a_line(line, becomes, tmp_path):
    made = mutants(tmp_path, line)
    assert {mutant.after for mutant in made} == becomes
    for mutant in made:
        ast.parse(mutant.source())


def test_only_functions_are_mutated(tmp_path):
    made = mutants(tmp_path, "x = 1 + 2\ndef g(self, n=1):\n    return n\n", head="class F:")
    assert made == []


def test_lines_of_a_statement_with_a_body_are_those_of_its_header(tmp_path):
    made = mutants(tmp_path, "if (a <\n        b):\n    return 1\nreturn 2")
    assert {(m.after, tuple(m.lines)) for m in made} == {
        ("if (a <= b):", (2, 3)),
        ("if ((not (a < b))):", (2, 3)),
        ("return 2", (4,)),
        ("return 3", (5,)),
    }


def test_mutant_keeps_its_id_where_its_function_moves(tmp_path):
    before = mutants(tmp_path, "x = a + b\nx = a + b")
    after = mutants(tmp_path, "x = a + b\nx = a + b", head="# moved\n\ndef f(a, b):")
    assert [m.id for m in before] == [m.id for m in after]
    assert len({m.id for m in before}) == 2


def test_sample_is_the_same_for_a_seed_and_takes_as_many_of_each_part(tmp_path):
    made = mutants(tmp_path, "\n".join(["a = b + c"] * 100))
    by_part = {"few": made[:5], "many": made[5:]}
    drawn = sample(by_part, 30, seed=7)
    assert drawn == sample(by_part, 30, seed=7) != sample(by_part, 30, seed=8)
    assert len(drawn) == 30
    assert set(made[:5]) <= set(drawn)


@pytest.fixture(scope="module")
def mutants_by_part():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parent.parent.parent)
        return {part: [m for path in modules(part) for m in mutants_of(path)] for part in PARTS}


def test_parts_are_modules_with_mutants(mutants_by_part):
    for part, made in mutants_by_part.items():
        assert len(made) > 50, part
        assert all(re.fullmatch("[0-9a-f]{8}", mutant.id) for mutant in made)
        assert len({mutant.id for mutant in made}) == len(made)


def test_each_mutant_that_is_listed_as_equivalent_is_one_of_the_code(mutants_by_part):
    entries = {entry_of(mutant) for made in mutants_by_part.values() for mutant in made}
    missing = load_reasons().keys() - entries
    assert not missing, "change these entries of equivalent.toml with their code, or remove them"

"""The package stays small: a feature that adds code names what it replaces."""

import ast
import io
import tokenize

from tests.project.package_source import load_modules

CEILING = 23_000
"""Code lines of the package. Look for what can go before you add to it."""

_WITHOUT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count_code_lines(text: str) -> int:
    """Count the lines that have code: blank lines, comments and docstrings are free."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _WITHOUT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def test_documentation_and_blank_lines_are_free():
    text = """'''Docs

of a module.'''

x = (  # a comment
    1,
)

# another
def f():
    'Docs.'
    return 'a' \\
        'b'
"""
    assert count_code_lines(text) == 3 + 1 + 2


def test_package_keeps_to_its_budget_of_code_lines():
    lines = {name: count_code_lines(module.text) for name, module in load_modules().items()}
    largest = sorted(lines.items(), key=lambda item: -item[1])[:5]
    assert sum(lines.values()) <= CEILING, (
        f"The package has {sum(lines.values())} code lines; its ceiling is {CEILING}. Look for "
        "what the new feature replaces, and remove it. Never shorten documentation or pack lines "
        f"for this: only code counts. The largest modules are {largest}."
    )

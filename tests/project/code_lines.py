"""Count the code lines of Python and Java sources."""

import ast
import io
import re
import tokenize

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


def count_java_lines(text: str) -> int:
    """Count the lines of Java that have code; imports and the package are free."""
    without_comments = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lines = [line.strip() for line in without_comments.splitlines()]
    return sum(not line.startswith(("//", "import ", "package ")) for line in lines if line)

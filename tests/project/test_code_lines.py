"""Code lines are counted without documentation, comments and blank lines."""

from tests.project.code_lines import count_code_lines, count_java_lines


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


def test_java_without_comments_and_imports_is_counted():
    text = """package p;
import java.util.Map;
/** Docs
 * of a class. */
class A { // a comment
  // another

  int a; /* a third */
}
"""
    assert count_java_lines(text) == 3

"""The rules of the house that a reader relies on, checked in the source.

Kernels take few arguments, state has names, and dependencies point one way.
"""

import ast
import re
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = sorted((ROOT / "streamlb").rglob("*.py"))
EVERYTHING = [
    path
    for folder in ("streamlb", "analysis", "validation", "tests", "asv_bench", "docs")
    for pattern in ("*.py", "*.pyi", "*.md")
    for path in sorted((ROOT / folder).rglob(pattern))
    if "_build" not in path.parts and path != Path(__file__).resolve()
] + sorted(ROOT.glob("*.md"))


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def shown(path, line):
    return f"{path.relative_to(ROOT)}:{line}"


def is_kernel(function):
    return any("njit" in ast.dump(decorator) for decorator in function.decorator_list)


def whole_numbers(value):
    """Return whether an expression is a whole number, or a tuple or range of them."""
    if isinstance(value, ast.Tuple):
        return all(whole_numbers(entry) for entry in value.elts)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id == "range"
    return isinstance(value, ast.Constant) and type(value.value) is int


def is_block(index):
    """Return whether an index is a stretch of given length, as in `at : at + BLOCK`."""
    return (
        isinstance(index, ast.Slice)
        and index.lower is not None
        and isinstance(index.upper, ast.BinOp)
        and ast.dump(index.upper.left) == ast.dump(index.lower)
    )


def is_constant(value):
    return isinstance(value, ast.Name) and value.id.isupper()


def constants(module):
    """Return the names that a module binds to whole numbers at its top level."""
    names = set()
    for statement in module.body:
        if isinstance(statement, ast.Assign) and whole_numbers(statement.value):
            for target in statement.targets:
                names |= {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    return names


def imported(module):
    """Return (module, name, line) of what a file imports from streamlb."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "streamlb":
            for alias in node.names:
                yield node.module, alias.name, node.lineno


def file_of(module):
    stem = ROOT.joinpath(*module.split("."))
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)


def test_kernels_take_at_most_eight_arguments():
    crowded = [
        f"{shown(path, node.lineno)} {node.name} takes {len(node.args.args)}"
        for path in LIBRARY
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef) and is_kernel(node) and len(node.args.args) > 8
    ]
    assert crowded == []


def test_no_constant_stands_for_a_position():
    """A field of a record has a name; `marks[CARRIER, i]` does not say whose state it is.

    Names of a block's length (`keys[at : at + BLOCK]`) and look-ups in a constant are no positions.
    """
    positions = []
    for path in LIBRARY:
        module = tree(path)
        known = constants(module)
        for where, name, _ in imported(module):
            source = file_of(where)
            if source is not None and name in constants(tree(source)):
                known.add(name)
        for node in ast.walk(module):
            if isinstance(node, ast.Subscript) and not is_block(node.slice) and not is_constant(node.value):
                used = {part.id for part in ast.walk(node.slice) if isinstance(part, ast.Name)} & known
                positions += [f"{shown(path, node.lineno)} {name}" for name in sorted(used)]
    assert positions == []


def test_no_paper_is_cited_by_a_number():
    numbered = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in EVERYTHING
        for found in re.findall(r"\bpapers? 00\d", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert numbered == []


def test_no_star_imports():
    stars = [
        shown(path, node.lineno)
        for path in EVERYTHING
        if path.suffix == ".py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert stars == []


def comments(path):
    """Return (line number, line) of each line with a comment that is prose."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT and not token.string.startswith(("# noqa", "# type: ", "# fmt: ")):
                yield token.start[0], token.line.rstrip()


def prose(path):
    """Return (line number, line) of what a Markdown file says in sentences, and of comments.

    Code is as wide as it is, and a row of a table cannot be wrapped.
    """
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif "  # " in line if fenced else not line.lstrip().startswith("|"):
            yield number, line


def test_prose_wraps_at_100_columns():
    """Ruff sees docstrings and comments on lines of their own, no trailing ones and no Markdown."""
    long = [
        shown(path, number)
        for path in EVERYTHING
        for number, line in (prose(path) if path.suffix == ".md" else comments(path))
        if len(line) > 100 and "://" not in line
    ]
    assert long == []


# What each room may import when it is loaded, besides the standard library. What a function imports
# when it is called (an engine, a drawing library) does not count. The theory shares the checks of
# arguments and never a kernel; llvmlite is a part of Numba.
ALLOWED = {
    "analysis": ("numpy", "scipy", "sympy", "streamlb._check"),
    "streamlb": ("numpy", "numba", "llvmlite", "streamlb"),
}


def imports_at_load(module):
    """Return (dotted name, line) of what a file imports when it is loaded, but not relatively."""
    for node in module.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_dependencies_point_one_way(room):
    above = ("streamlb.validation.", "streamlb.analysis.")
    outside = [
        f"{shown(path, line)} imports {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for name, line in imports_at_load(tree(path))
        if name.split(".")[0] not in sys.stdlib_module_names
        and (not f"{name}.".startswith(tuple(f"{top}." for top in ALLOWED[room])) or f"{name}.".startswith(above))
    ]
    assert outside == []

"""README: its examples run as written, and its table of folders is that of the checkout."""

import re
from pathlib import Path

import streamlb

ROOT = Path(streamlb.__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def run(block):
    """Run a block; return its names, and the value of each bare expression under its text."""
    names: dict = {}
    for line in block.splitlines():
        code = line.partition("  #")[0]
        if not code:
            continue
        try:
            expression = compile(code, "README.md", "eval")
        except SyntaxError:
            exec(code, names)
        else:
            names[code] = eval(expression, names)
    return names


def value(names, start):
    return next(names[text] for text in names if text.startswith(start))


def test_routing_example():
    names = run(BLOCKS[0])
    assert 0 <= value(names, "router.route(") < 50
    assert names["workers"].size == 1_000_000
    loads, head = value(names, "router.loads")
    assert loads.sum() == 1_000_001
    assert len(head)


def test_sketch_example():
    names = run(BLOCKS[1])
    assert value(names, "costs.estimate") == 2.0
    assert 'costs.estimate("map")  # 2.0' in BLOCKS[1]
    (row,) = value(names, "heavy.heavy_hitters").tolist()
    assert row == (streamlb.key_array(["a"])[0], 2, 0)


def test_theory_example():
    names = run(BLOCKS[2])
    assert value(names, "count_min_shape(") == (4, 55)
    assert "# (4, 55)" in BLOCKS[2]
    assert 2 <= value(names, "min_choices(") <= 50


def test_no_example_is_left_out():
    assert len(BLOCKS) == 3


def test_every_folder_and_target_exists():
    for folder in re.findall(r"^\| `(\w+)/` \|", TEXT, re.MULTILINE):
        assert (ROOT / folder).is_dir()
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"^make (\w+)|`make (\w+)`", TEXT, re.MULTILINE)
    assert named
    for first, second in named:
        assert (first or second) in targets


def test_every_extra_exists():
    import configparser

    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    paragraph = re.search(r"## Install\n(.*?)\n\n", TEXT, re.DOTALL).group(1)
    extras = set(re.findall(r"`(\w+)`", paragraph))
    assert extras <= set(setup["options.extras_require"])
    assert "all" in extras

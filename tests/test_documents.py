"""What the documents print is what happens: every Python block is run, and `# …` after an expression is its value."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ["README.md", "model_card.md", "docs/text.md"]
RUNNABLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(
    not (ROOT / "checkpoints/en-zh-ms/model.safetensors").exists(),
    reason="the default checkpoint is not in this checkout",
)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if (ROOT / name).exists()])
def test_the_blocks_of_a_document_do_what_they_say(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    for block in RUNNABLE.findall((ROOT / name).read_text(encoding="utf-8")):
        for code, said in statements(block):
            value = run(code, names)
            assert said is None or said in (repr(value), str(value)), f"{name}: {code}\nsays  {said}\ngives {value!r}"


def statements(block: str) -> list[tuple[str, str | None]]:
    """Each statement of a block, and what the comment lines right after it say."""
    lines = block.splitlines()
    found = []
    for node in ast.parse(block).body:
        said = []
        for line in lines[node.end_lineno :]:
            if not line.startswith("# "):
                break
            said.append(line[2:])
        is_value = isinstance(node, ast.Expr) and bool(said)
        found.append((ast.get_source_segment(block, node) or "", "\n".join(said) if is_value else None))
    return found


def run(code: str, names: dict[str, Any]) -> Any:
    """Run one statement; an expression's value is given back."""
    try:
        expression = compile(code, "document", "eval")
    except SyntaxError:
        exec(compile(code, "document", "exec"), names)
        return None
    return eval(expression, names)


def test_a_block_is_taken_apart_into_statements_and_what_they_say():
    block = "x = 1\n# set\nx + 1\n# 2\n[x,\n x]\n# [1, 1]\nprint(x)\n"
    assert statements(block) == [("x = 1", None), ("x + 1", "2"), ("[x,\n x]", "[1, 1]"), ("print(x)", None)]

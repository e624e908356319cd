"""How much is in the code. Ideas count, not lines: syntax nodes in all, and in a line of code of any file."""

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OTHERS = ("tests", "tools", "examples")  # not the product
FOLDERS = ("modeling", "pipeline", "punctuation_restoration", "space")
MOST_NODES = 97_000  # in these folders
MOST_A_LINE = 11  # over all
MOST_A_LINE_OF_A_FILE = 14  # in files of more than 20 lines of code
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def nodes_and_lines(path: Path) -> tuple[int, int]:
    """How many syntax nodes a file has, and how many lines that are neither blank, comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    docstrings: set[int] = set()
    for node in nodes:
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = [line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in docstrings]
    return len(nodes), sum(bool(line) and not line.startswith("#") for line in lines)


def test_the_code_holds_few_ideas_and_packs_none_of_them():
    listed = subprocess.check_output(["git", "ls-files", "*.py"], cwd=ROOT, text=True).splitlines()
    files = [ROOT / name for name in listed if not name.startswith(OTHERS)]
    counts = {path: nodes_and_lines(path) for path in files if path.is_file()}
    nodes, lines = map(sum, zip(*counts.values(), strict=True))
    in_folders = sum(n for path, (n, _) in counts.items() if path.relative_to(ROOT).parts[0] in FOLDERS)
    assert in_folders <= MOST_NODES, f"{in_folders:,} syntax nodes: remove or simplify something"
    assert nodes / lines <= MOST_A_LINE
    dense = {path.name: round(n / k, 1) for path, (n, k) in counts.items() if k > 20 and n / k > MOST_A_LINE_OF_A_FILE}
    assert not dense, "one thought a line: spread these files out"

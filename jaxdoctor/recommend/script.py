"""What to change in an existing script so that it makes the settings of a prescription. Nothing is edited."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.prescription import Means, Prescription
from jaxdoctor.prescriptions.statements import in_python, in_shell, python_value, variable

HIGH = re.compile(r"""["'](high|tensorfloat32)["']|\bPrecision\.HIGH\b""")
"""The level HIGH, as JAX spells it."""

HINT = "name a Python or shell script"
SHELL_SUFFIXES = {".sh", ".bash", ".sbatch", ".slurm", ".env"}


def difference(path: Path, prescription: Prescription) -> str:
    """A unified diff; empty when the script makes the settings already.

    Raises:
        UnreadableError: it cannot be read, or is no Python and no shell script.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(
            f"{path} cannot be read: {error}", hint="name a Python or shell script"
        ) from error
    lines = text.splitlines()
    is_shell = path.suffix in SHELL_SUFFIXES or re.match(r"#!.*\b(ba|z|da)?sh\b", text) is not None
    changed = _shell(lines, prescription) if is_shell else _python(lines, prescription, path)
    found = difflib.unified_diff(lines, changed, f"a/{path}", f"b/{path}", lineterm="")
    # `patch` and `git apply` pass over what stands before the first header.
    notes = [] if is_shell else _notes(changed, path)
    return "".join(f"{line}\n" for line in [*notes, *found])


def _notes(lines: list[str], path: Path) -> list[str]:
    """Remarks on levels of precision that the script itself sets and that may give less than they say."""
    return [
        f'# {path}:{number}: "high" may give no more bits than "default" on a card with TF32 (JD102); '
        '"highest" gives all 23'
        for number, line in enumerate(lines, 1)
        if "precision" in line.lower() and HIGH.search(line.partition("#")[0])
    ]


def _shell(lines: list[str], prescription: Prescription) -> list[str]:
    changed, missing = list(lines), []
    for setting in prescription.settings:
        name, export = variable(setting), in_shell(setting)
        if export in changed:
            continue
        pattern = re.compile(rf"\s*(export\s+)?{name}=")
        places = [index for index, line in enumerate(changed) if pattern.match(line)]
        if places and setting.means is not Means.XLA:
            changed[places[-1]] = export
        else:
            missing.append(export)
    head = next((index for index, line in enumerate(changed) if not line.startswith("#")), len(changed))
    return [*changed[:head], *missing, *changed[head:]]


def _python(lines: list[str], prescription: Prescription, path: Path) -> list[str]:
    try:
        tree = ast.parse("\n".join(lines) + "\n")
    except (SyntaxError, ValueError) as error:
        raise UnreadableError(
            f"{path} is no Python: {error}", hint="name a Python or shell script"
        ) from error
    changed, before, after = list(lines), [], []
    for setting in prescription.settings:
        if setting.means is Means.JAX:
            found = list(_updates(tree, setting.key))
            after += [] if found else [in_python(setting)]
            for call in found:
                _replace(changed, call.args[1], python_value(setting))
        else:
            line = in_python(setting)
            before += [] if line in changed else [line]
    return _inserted(changed, tree, before, after)


def _updates(tree: ast.Module, key: str) -> Iterator[ast.Call]:
    """Calls of `jax.config.update(key, ...)`, under whatever name the configuration was imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            first = node.args[0] if len(node.args) > 1 else None
            if isinstance(first, ast.Constant) and first.value == key:
                yield node


def _replace(lines: list[str], node: ast.expr, value: str) -> None:
    """Puts the value where the node stands, when that is in one line. Offsets count bytes."""
    if node.end_lineno != node.lineno or node.end_col_offset is None:
        return
    line = lines[node.lineno - 1].encode()
    old = line[node.col_offset : node.end_col_offset]
    if ast.dump(ast.parse(old.decode())) != ast.dump(ast.parse(value)):
        line = line[: node.col_offset] + value.encode() + line[node.end_col_offset :]
        lines[node.lineno - 1] = line.decode()


def _inserted(lines: list[str], tree: ast.Module, before: list[str], after: list[str]) -> list[str]:
    """Variables before the first import that may bring jax in, `config.update` behind the one that does."""
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    ordinary = [node for node in imports if getattr(node, "module", "") != "__future__"]
    of_jax = [node for node in ordinary if _brings(node, "jax")]
    first = (ordinary[0].lineno - 1) if ordinary else _head(tree)
    last = (of_jax[0].end_lineno or 0) if of_jax else first
    late = [*([] if of_jax or not after else ["import jax"]), *after]
    if before and (own := _ready(ordinary)) is not None:
        at = own.end_lineno or 0
        last = max(last, at)
        return [*lines[:at], *before, *lines[at:last], *late, *lines[last:]]
    moved = [node.lineno - 1 for node in ordinary if before and _is_import_of(node, "os")]
    early = [lines[moved[0]] if moved else "import os", *before] if before else []
    kept = [(index, line) for index, line in enumerate(lines) if index not in moved]
    return [
        *(line for index, line in kept if index < first),
        *early,
        *(line for index, line in kept if first <= index < last),
        *late,
        *(line for index, line in kept if index >= max(first, last)),
    ]


def _ready(imports: Sequence[ast.Import | ast.ImportFrom]) -> ast.Import | ast.ImportFrom | None:
    """The script's own import of os, where nothing before it may bring jax in."""
    for node in imports:
        if _brings(node, "os"):
            return node
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
        if any(name.partition(".")[0] not in sys.stdlib_module_names for name in names):
            return None
    return None


def _is_import_of(node: ast.stmt, name: str) -> bool:
    """Whether a statement is `import NAME` and nothing else, on a line of its own."""
    return isinstance(node, ast.Import) and [(one.name, one.asname) for one in node.names] == [(name, None)]


def _head(tree: ast.Module) -> int:
    """Behind the docstring and what is imported from the future."""
    head = 0
    for node in tree.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and getattr(node, "module", "") != "__future__":
            break
        head = node.end_lineno or head
    return head


def _brings(node: ast.Import | ast.ImportFrom, name: str) -> bool:
    """Whether an import binds that very name."""
    return isinstance(node, ast.Import) and any(
        alias.name == name and not alias.asname for alias in node.names
    )

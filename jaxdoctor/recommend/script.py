"""What to change in an existing script so that it makes the settings of a prescription. Nothing is edited."""

from __future__ import annotations

import ast
import difflib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.prescription import Means, Prescription, Setting

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
    return "".join(f"{line}\n" for line in found)


def _shell(lines: list[str], prescription: Prescription) -> list[str]:
    changed, missing = list(lines), []
    for setting in prescription.settings:
        name = "XLA_FLAGS" if setting.means is Means.XLA else _variable(setting)
        export = f"export {name}={shlex.quote(setting.word)}"
        if setting.means is Means.XLA:
            export = f'export {name}="${{{name}:-}} --{setting.key}={setting.word}"'
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
            after += [] if found else [_update(setting)]
            for call in found:
                _replace(changed, call.args[1], _value(setting))
        else:
            line = _environ(setting)
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
    early = ["import os", *before] if before else []
    late = [*([] if of_jax or not after else ["import jax"]), *after]
    return [*lines[:first], *early, *lines[first:last], *late, *lines[last:]]


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


def _update(setting: Setting) -> str:
    return f"jax.config.update({json.dumps(setting.key)}, {_value(setting)})"


def _value(setting: Setting) -> str:
    return str(setting.value) if isinstance(setting.value, bool) else json.dumps(setting.value)


def _environ(setting: Setting) -> str:
    if setting.means is Means.XLA:
        flag = json.dumps(f" --{setting.key}={setting.word}")
        return f'os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + {flag}'
    return f"os.environ[{json.dumps(setting.key)}] = {json.dumps(setting.word)}"


def _variable(setting: Setting) -> str:
    return setting.key.upper() if setting.means is Means.JAX else setting.key

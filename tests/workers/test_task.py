"""Every task says of its function what is true of it."""

import ast
import importlib
import inspect
import typing

import pytest

import jaxdoctor
from jaxdoctor.workers.task import Task
from tests.test_architecture import dotted, modules

DECLARING = sorted(
    dotted(path)
    for path in modules()
    if any(
        isinstance(node, ast.AnnAssign) and "Task[" in ast.unparse(node.annotation)
        for node in ast.parse(path.read_text()).body
    )
)


def tasks():
    for name in DECLARING:
        module = importlib.import_module(f"{jaxdoctor.__name__}.{name}")
        hints = typing.get_type_hints(module)
        for variable, value in vars(module).items():
            if isinstance(value, Task) and variable in hints:
                yield pytest.param(value, hints[variable], id=value.function)


@pytest.mark.parametrize(("task", "declared"), list(tasks()))
def test_a_task_is_declared_as_its_function_is(task, declared):
    """The arguments' types, in their order, and the answer's; mypy then checks who calls it."""
    arguments, answer = typing.get_args(declared)
    module, _, name = task.function.partition(":")
    function = getattr(importlib.import_module(module), name)
    hints = typing.get_type_hints(function)
    parameters = [each for each in inspect.signature(function).parameters if each != "progress"]

    assert [hints[each] for each in parameters] == list(arguments)
    assert hints["return"] in {answer, type(None) if answer is None else answer}
    assert "progress" in inspect.signature(function).parameters

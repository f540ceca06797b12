"""What is silent is what real libraries were seen to write, and nothing else."""

import json
import pickle
from importlib import resources

import numpy as np
import pytest

from jaxdoctor.checkpoints.discover import recognized
from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.reader import READERS
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.facts.finding import Severity
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.pickles.names import Standing, as_loaded, known
from tests.known_names import known_names
from tests.paths import FIXTURES

CARRIES_CODE = {"cloudpickle", "dill", "umap"}
"""Libraries that save functions as code."""

ALARMS = {"hostile-content", "carried-code", "corrupt-data", "truncated-file"}


@pytest.fixture(scope="module")
def real_files(tmp_path_factory):
    """A folder of what some forty libraries saved, and the names in it."""
    folder = tmp_path_factory.mktemp("real")
    return folder, known_names(FIXTURES / "pickles.tar.xz", folder)


def test_the_table_is_what_the_files_hold(real_files):
    """No name is known by hand: `tests/fixtures/make_known_names.py` makes the table again."""
    table = json.loads(resources.files("jaxdoctor.storage.pickles").joinpath("known_names.json").read_text())

    assert table == real_files[1]


def test_no_alarm_over_a_real_file(real_files):
    """Every library's files are silent, but for those that carry code; there are more than twenty."""
    folder, _ = real_files
    read, wrong = set(), []
    for path in sorted(folder.rglob("*")):
        name = recognized(Candidate(path)) if path.is_file() and path.suffix != ".distcp" else None
        library = path.relative_to(folder).parts[0]
        if name is not None and library not in CARRIES_CODE:
            read.add(library)
            kinds = {fault.kind for fault in READERS.load(name).read(path, Budget()).faults}
            wrong += [(path.name, kind) for kind in kinds & ALARMS]

    assert wrong == []
    assert len(read) > 30
    assert {"pandas", "sklearn", "jax", "optax", "flax", "brax", "torch", "joblib"} <= read


@pytest.mark.parametrize("library", sorted(CARRIES_CODE))
def test_functions_carried_as_code_are_a_warning(real_files, library):
    """A lambda, a closure, a class of `__main__`: they are code, and nothing calls them at load."""
    files = sorted((real_files[0] / library).iterdir())
    kinds = [
        {fault.kind for fault in READERS.load("pickle").read(path, Budget()).faults} & ALARMS
        for path in files
    ]

    assert kinds == [{"carried-code"}] * len(files)


@pytest.mark.parametrize(
    "name",
    ["pandas/to_pickle.pkl", "sklearn/KNNImputer.4.pkl", "scipy/interpolate.1.5.pkl", "gymnasium/box.5.pkl"],
)
def test_missing_values_of_other_fields_are_meant(real_files, name):
    """A frame with missing values, an imputer's mark and a space's bounds are no ruined training state."""
    findings = scan([real_files[0] / name], Options()).findings

    assert [finding.code for finding in findings if finding.severity > Severity.NOTE] == []


def test_missing_values_beside_a_frame_are_not(tmp_path):
    """The parameters beside an estimator are judged as ever."""
    path = tmp_path / "state.pkl"
    path.write_bytes(pickle.dumps({"params": {"w": np.array([1.0, np.nan], np.float32)}, "step": 3}))

    assert [finding.code for finding in scan([path], Options()).findings] == ["JD301"]


def test_old_names_are_todays():
    """NumPy and JAX renamed modules; a file of before is known as well."""
    assert known("numpy.core.multiarray", "_reconstruct") == known("numpy._core.multiarray", "_reconstruct")
    assert known("jax.interpreters.xla", "reconstruct_device_array").standing is Standing.STATE


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        (("httplib", "HTTPSConnection"), ("http.client", "HTTPSConnection")),
        (("__builtin__", "set"), ("builtins", "set")),
        (("urllib", "urlopen"), ("urllib.request", "urlopen")),
        (("copy_reg", "_reconstructor"), ("copyreg", "_reconstructor")),
        (("numpy", "dtype"), ("numpy", "dtype")),
    ],
)
def test_names_of_python_2(name, loaded):
    """They are mapped as `pickle.load` maps them."""
    assert as_loaded(*name) == loaded


@pytest.mark.parametrize(
    ("module", "name", "standing"),
    [
        ("collections", "OrderedDict", Standing.STATE),
        ("os", "system", Standing.REFUSED),
        ("http.client", "HTTPSConnection", Standing.REFUSED),
        ("psutil", "Popen", Standing.REFUSED),
        ("torch.hub", "load", Standing.REFUSED),
        ("numpy", "f2py.os.system", Standing.REFUSED),
        ("my_robot.config", "Config.__init__.__globals__", Standing.REFUSED),
        ("numpy", "load", Standing.UNKNOWN),
        ("my_robot.config", "Config", Standing.UNKNOWN),
        ("my_robot.config", "Config.Inner", Standing.UNKNOWN),
        ("cloudpickle.cloudpickle", "_make_function", Standing.CARRIED),
        ("joblib.externals.cloudpickle.cloudpickle", "_make_function", Standing.CARRIED),
        ("dill._dill", "_create_code", Standing.CARRIED),
        ("dill._dill", "_eval_repr", Standing.REFUSED),
        ("builtins", "getattr", Standing.GETATTR),
    ],
)
def test_standing(module, name, standing):
    assert known(module, name).standing is standing

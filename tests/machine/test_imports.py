"""What can be imported, tried in a worker on packages that stand in front of the real ones."""

import os
import time

import pytest

from jaxdoctor.machine.imports import tried_imports


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Installs packages of a few lines before all others: name, version, files, what it requires."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def install(name, version, files, *, lost=(), requires=()):
        for file, text in files.items():
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        wanted = "".join(f"Requires-Dist: {each}\n" for each in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wanted}")
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, *lost)))

    return install


def tried(seconds=60.0):
    return tried_imports(os.environ, time.monotonic() + seconds)


MODEL = """
class MjModel:
    from_xml_string = staticmethod(lambda text: text)
"""
MJX = """
def put_model(model, device=None, impl=None):
    return impl
def make_data(model, device=None, impl=None): ...
"""


def test_the_packages_of_this_environment_fit(monkeypatch):
    """Settings that JAX refuses do not matter: they have findings of their own."""
    monkeypatch.setenv("JAX_ENABLE_X64", "maybe")
    monkeypatch.setenv("XLA_FLAGS", "--xla_no_such_flag")

    found = tried()

    assert found.unimportable == {}
    assert found.missing_files == {}
    assert found.skipped == ()


def test_lost_files_are_counted_for_each_part(packages):
    packages("mujoco", "4.0.0", {"mujoco/__init__.py": "from mujoco import _specs"})
    packages("mujoco-core", "4.0.0", {}, lost=["mujoco/_specs.so", "mujoco/_enums.so"])
    packages("mujoco-mjx", "3.17.0", {"mujoco/mjx/__init__.py": MJX})

    found = tried()

    assert list(found.unimportable) == ["mujoco"]
    assert found.unimportable["mujoco"].startswith("ImportError: cannot import name '_specs'")
    assert found.missing_files == {"mujoco-core": 2}


def test_a_folder_that_is_left_without_its_code(packages):
    """Python imports a folder without `__init__.py` as an empty package, as this one is."""
    packages("mujoco", "3.5.0", {"mujoco/__init__.py": ""}, lost=["mujoco/_structs.so"])

    found = tried()

    assert found.unimportable == {"mujoco": "AttributeError: module 'mujoco' has no attribute 'MjModel'"}
    assert found.missing_files == {"mujoco": 1}


def test_an_mjx_that_lacks_a_name_of_mujoco(packages):
    packages("mujoco", "4.0.0", {"mujoco/__init__.py": MODEL})
    packages("mujoco-mjx", "3.5.0", {"mujoco/mjx/__init__.py": "import mujoco\nmujoco.mjtEnableBit"})

    found = tried()

    assert found.unimportable == {
        "mujoco.mjx": "AttributeError: module 'mujoco' has no attribute 'mjtEnableBit'"
    }


def test_an_mjx_that_fails_only_with_a_model(packages):
    packages("mujoco", "4.0.0", {"mujoco/__init__.py": MODEL})
    refusing = MJX.replace("return impl", "raise AttributeError('MjModel has no nflex')")
    packages("mujoco-mjx", "3.16.0", {"mujoco/mjx/__init__.py": refusing})

    assert tried().unimportable == {"mujoco.mjx": "AttributeError: MjModel has no nflex"}


def test_a_warp_that_breaks_mjx_is_what_is_blamed(packages):
    """Without it MJX can be imported."""
    importing = f"try:\n    import warp\nexcept ImportError:\n    pass\n{MJX}"
    packages("mujoco", "4.0.0", {"mujoco/__init__.py": MODEL})
    packages("warp-lang", "1.11.0", {"warp/__init__.py": "raise TypeError('no subscript')"})
    pin = 'warp-lang==1.18.0; extra == "warp"'
    packages("mujoco-mjx", "3.17.0", {"mujoco/mjx/__init__.py": importing}, requires=["absl-py", pin])

    found = tried()

    assert found.unimportable == {"warp": "TypeError: no subscript"}
    assert found.warp_pinned == "1.18.0"


def test_a_package_that_ends_the_process_cannot_be_imported(packages):
    packages("mujoco", "4.0.0", {"mujoco/__init__.py": "import os\nos.abort()"})

    assert "SIGABRT" in tried().unimportable["mujoco"]


def test_a_pair_that_fits_is_healthy(packages):
    packages("mujoco", "4.0.0", {"mujoco/__init__.py": MODEL})
    packages("mujoco-mjx", "0", {"mujoco/mjx/__init__.py": MJX})

    assert tried().unimportable == {}


def test_what_takes_too_long_is_said(packages):
    packages("mujoco", "4.0.0", {"mujoco/__init__.py": "import time\ntime.sleep(60)"})

    (skipped,) = tried(1.0).skipped

    assert skipped.subject == "whether MuJoCo can be imported"

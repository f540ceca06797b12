"""A bundle from a stranger: whatever is in it, it is a bundle or one clear error."""

import contextlib
import functools
import json
import resource
import zipfile

import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.bundles import read as reading
from jaxdoctor.bundles.bundle import COMPILED, FILES
from jaxdoctor.bundles.read import read
from jaxdoctor.bundles.write import write
from jaxdoctor.errors import UnreadableError, UsageError
from tests.bundles.made import a_bundle
from tests.checkpoints.readers.fuzz import CALM, ODD, damage, damaged


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "f.zip"
    write(path, a_bundle())
    return path


def altered(written, path, change):
    """A copy whose members were changed: a mapping of names to content goes in, and comes out."""
    with zipfile.ZipFile(written) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def with_manifest(members, change):
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    return {**members, "manifest.json": json.dumps(manifest).encode()}


@CALM
@given(damage())
def test_damage_is_a_bundle_or_an_error(written, happened):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with damaged(written, happened) as path, contextlib.suppress(UnreadableError):
        read(path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10

    assert grown < 200 << 20


def places(value, path=()):
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from places(below, (*path, key))


@pytest.mark.slow
def test_odd_values_anywhere_in_the_manifest(written, tmp_path):
    """What an enemy writes in place of each value, one at a time."""
    with zipfile.ZipFile(written) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    for place in places(manifest):
        for odd in ODD:
            change = functools.partial(put, place=place, odd=odd)
            path = altered(
                written, tmp_path / "odd.zip", lambda old, change=change: with_manifest(old, change)
            )
            with contextlib.suppress(UnreadableError):
                read(path)


def put(whole, place, odd):
    for key in place[:-1]:
        whole = whole[key]
    whole[place[-1]] = odd


def test_a_changed_member_is_seen_by_its_hash(written, tmp_path):
    path = altered(written, tmp_path / "f.zip", lambda members: {**members, COMPILED: b"different"[:8]})

    with pytest.raises(UnreadableError, match="SHA-256"):
        read(path)


def test_a_member_that_nobody_names_is_refused(written, tmp_path):
    path = altered(written, tmp_path / "f.zip", lambda members: {**members, "extra.pkl": b"x"})

    with pytest.raises(UnreadableError, match=r"extra\.pkl"):
        read(path)


@pytest.mark.parametrize("name", ["../evil.xml", "/etc/evil.xml", "a/../../evil.xml", "a\\..\\evil.xml"])
def test_no_name_leaves_the_folder(written, tmp_path, name):
    evil = f"{FILES}{name}" if not name.startswith("/") else name

    path = tmp_path / "f.zip"
    write(path, a_bundle(files={f"{FILES}robot.xml": b"<mujoco/>", COMPILED: b"x", evil: b"evil"}))

    with pytest.raises(UnreadableError):
        read(path)


def test_a_bomb_is_not_inflated(tmp_path, monkeypatch):
    path = tmp_path / "f.zip"
    write(path, a_bundle(files={COMPILED: bytes(64 << 20), f"{FILES}robot.xml": b"<mujoco/>"}))
    monkeypatch.setattr(reading, "MOST_INFLATED", 32 << 20)

    with pytest.raises(UnreadableError, match="larger than"):
        read(path)


@pytest.mark.parametrize("member", ["state/0.npy", "policy/0.npy"])
def test_arrays_hold_numbers_alone(written, tmp_path, member):
    """An array of objects would be a pickle."""
    odd = tmp_path / "odd.npy"
    np.save(odd, np.array([[print]] * 3, object), allow_pickle=True)
    content = odd.read_bytes()

    def swap(members):
        import hashlib

        def declare(manifest):
            manifest["parts"][member] = {
                "size": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }

        return {**with_manifest(members, declare), member: content}

    with pytest.raises(UnreadableError, match="no little-endian number"):
        read(altered(written, tmp_path / "f.zip", swap))


def an_array(**of):
    """Says something else of the policy's first array."""
    return lambda manifest: manifest["policy"]["arrays"][0].update(of)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (an_array(member="state/0.npy"), "no array of its own"),
        (an_array(member="policy/9.npy"), "no array of its own"),
        (an_array(member="policy/1.npy"), "declared as 'float32'"),
        (an_array(dtype="float64"), "declared as 'float64'"),
        (an_array(dtype="os.system"), r"declared as 'os\.system'"),
        (an_array(keys=["1", "params"]), "others are below"),
        (an_array(keys=["0", "count"]), "no array of its own"),
        (an_array(keys=["a"] * 65), "no array of its own"),
        (lambda manifest: manifest["policy"]["arrays"].pop(), "does not name what each member is"),
        (lambda manifest: manifest["policy"].update(arrays=[3]), "no list of objects"),
        (lambda manifest: manifest["policy"].update(kind="../evil"), r"\.\./evil"),
        (lambda manifest: manifest["policy"].update(config=[]), "no dict"),
        (lambda manifest: manifest.update(policy=None), "does not name what each member is"),
    ],
)
def test_a_hostile_policy_is_refused(written, tmp_path, change, said):
    path = altered(written, tmp_path / "f.zip", lambda members: with_manifest(members, change))

    with pytest.raises(UnreadableError, match=said):
        read(path)


def test_a_bundle_without_a_word_of_a_policy_is_read(tmp_path):
    """As those are that were written before a policy could be in one."""
    write(tmp_path / "old.zip", a_bundle(policy=None))
    path = altered(
        tmp_path / "old.zip",
        tmp_path / "f.zip",
        lambda members: with_manifest(members, lambda manifest: manifest.pop("policy")),
    )

    assert read(path).policy is None


def test_arrays_have_a_row_for_each_step(tmp_path):
    path = tmp_path / "f.zip"
    write(path, a_bundle(state={"qpos": np.zeros((2, 1), "f4")}))

    with pytest.raises(UnreadableError, match="3 steps are recorded"):
        read(path)


def test_what_is_no_bundle_is_said(tmp_path):
    (tmp_path / "text").write_text("hello")
    np.savez(tmp_path / "other.npz", w=np.ones(3))
    write(tmp_path / "long.zip", a_bundle())
    with (tmp_path / "long.zip").open("ab") as file:
        file.truncate(reading.MOST_BYTES + 1)

    for name in ("text", "other.npz", "long.zip"):
        with pytest.raises(UnreadableError, match="is no bundle"):
            read(tmp_path / name)
    with pytest.raises(UsageError, match="does not exist"):
        read(tmp_path / "gone")

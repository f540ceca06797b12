"""Cores: affinity, both versions of control groups, and XLA's own variables."""

import pytest

from jaxdoctor.machine.cores import pool_threads, schedulable_cores, usable_cores


def tree(root, files):
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_the_scheduler_decides_where_no_group_does(tmp_path):
    assert usable_cores(tmp_path) == schedulable_cores()


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "100000 100000\n"},
        {"proc/self/cgroup": "0::/slice/job\n", "sys/fs/cgroup/slice/cpu.max": "50000 100000\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "20000 100000\n"},
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/docker/x\n1:name=systemd:/\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "100000",
            "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000",
        },
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/docker/x\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "90000",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        },
    ],
    ids=["v2", "v2 parent", "v2 root", "v1", "v1 seen from inside a container"],
)
def test_a_groups_limit_counts_rounded_up(tmp_path, files):
    assert usable_cores(tree(tmp_path, files)) == 1


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "max 100000\n"},
        {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "rubbish\n"},
        {"proc/self/cgroup": "rubbish\n"},
        {
            "proc/self/cgroup": "3:cpu:/x\n",
            "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000",
        },
        {
            "proc/self/cgroup": "3:cpu:/x\n",
            "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "100000",
            "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "0",
        },
    ],
    ids=["max", "rubbish", "no group", "v1 without limit", "no period"],
)
def test_no_limit_is_no_limit(tmp_path, files):
    assert usable_cores(tree(tmp_path, files)) == schedulable_cores()


@pytest.mark.parametrize(
    ("variables", "threads"),
    [
        ({"NPROC": "16"}, 16),
        ({"PJRT_NPROC": "3", "NPROC": "16"}, 3),
        ({"NPROC": "many"}, schedulable_cores()),
        ({}, schedulable_cores()),
    ],
)
def test_xla_takes_its_pool_from_two_variables_first(variables, threads):
    assert pool_threads(variables) == threads

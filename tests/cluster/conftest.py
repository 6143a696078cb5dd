"""A cluster for each test, with its logs shown when the test fails."""

import pytest

import network
from nodes import Cluster
from sizes import pytest_collection_modifyitems, pytest_configure  # noqa: F401


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        item.failed = True
        for cluster in getattr(item, "clusters", []):
            report.sections.append(("nodes", cluster.logs()))
    return report


@pytest.fixture
def start_cluster(request):
    """A function that starts a cluster; it ends with the test."""
    request.node.clusters = []

    def start(count: int = 3, **options) -> Cluster:
        # Known before its nodes start, so that they end whatever happens.
        cluster = Cluster(0, **options)
        request.node.clusters.append(cluster)
        for _ in range(count):
            cluster.add()
        return cluster

    yield start
    for cluster in request.node.clusters:
        cluster.stop(keep=getattr(request.node, "failed", False))


@pytest.fixture
def cluster(start_cluster):
    """Three nodes, and keyspace `k` with factor 3."""
    cluster = start_cluster()
    cluster.create()
    return cluster


@pytest.fixture
def cut_cluster(start_cluster):
    """The same with each node in a network namespace of its own."""
    why_not = network.why_not()
    if why_not:
        pytest.skip(why_not)
    cluster = start_cluster(network=network.Network())
    cluster.create()
    return cluster

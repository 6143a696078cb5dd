"""A directory for all data of a run, which goes when every test has passed."""

import pathlib
import tempfile

import pytest

import directories
import server as servers


@pytest.fixture(scope="session")
def run_directory(request):
    runs = servers.ROOT / ".cache" / "run"
    runs.mkdir(parents=True, exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="faults-", dir=runs))
    # Nobody has to get in.
    directory.chmod(0o755)
    yield directory
    if request.session.testsfailed == 0:
        directories.delete(directory)

"""Which tests of a suite run, and how large they are: those of `make test`, or those of `make test-long`.

| mark          | `make test` | `make test-long`, which sets TARNDB_TEST_LONG=1 |
|---------------|-------------|--------------------------------------------------|
| none          | runs        | does not run                                     |
| `sized`       | runs, small | runs, large                                      |
| `long`        | does not run | runs                                            |

A conftest.py imports this module's hooks by name; `sized(few, many)` is the number for the run at hand.
"""

import os

LONG = os.environ.get("TARNDB_TEST_LONG") == "1"


def sized(few, many):
    """`few` in `make test`, `many` in `make test-long`."""
    return many if LONG else few


def pytest_configure(config):
    config.addinivalue_line("markers", "sized: runs in `make test`, and again with more rounds in `make test-long`")
    config.addinivalue_line("markers", "long: runs in `make test-long` only")


def pytest_collection_modifyitems(config, items):
    def is_wanted(item) -> bool:
        if LONG:
            return any(item.get_closest_marker(name) for name in ("long", "sized"))
        return item.get_closest_marker("long") is None

    unwanted = [item for item in items if not is_wanted(item)]
    config.hook.pytest_deselected(items=unwanted)
    items[:] = [item for item in items if is_wanted(item)]

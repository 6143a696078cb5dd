"""GridDB's Python client in a process with a JVM that has its jars: `from client import griddb`.

What it does with Arrow's RecordBatch is done by classes of `gridstore-arrow`, a jar that could not be had from Maven Central. The client imports their names
whatever it is used for: here they name nothing, and RecordBatch is not tried. All else is the client's own, as it is.
"""

import glob
import os
import pathlib
import sys
import tempfile
import types

import jpype

ROOT = pathlib.Path(__file__).resolve().parents[3]
JARS = os.environ.get("TARNDB_TEST_JARS", str(ROOT / ".cache" / "griddb-python" / "lib"))
LOGS = os.environ.get("TARNDB_SUITE_LOGS", tempfile.gettempdir())
ADAPTER = "com.toshiba.mwcloud.gs.arrow.adapter"
CLASSES = ["JavaAPIToArrow", "JavaAPIParameterBinder", "JavaAPIToArrowConfigBuilder", "MultiGetWrapper", "MultiPutWrapper"]

# Arrow reaches into buffers.
options = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "-Xmx256m", f"-XX:ErrorFile={LOGS}/griddb-python.jvm"]
jpype.startJVM(*options, classpath=glob.glob(f"{JARS}/*.jar"))
for package in [ADAPTER.rpartition(".")[0], ADAPTER]:
    sys.modules[package] = types.ModuleType(package)
vars(sys.modules[ADAPTER]).update(dict.fromkeys(CLASSES))

import griddb_python as griddb  # noqa: E402, F401

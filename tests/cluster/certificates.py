"""Certificates for nodes, made as docs/reference/operations.md says, with openssl."""

import pathlib
import shutil
import subprocess

SETTINGS = ("--node-certificate", "--node-key", "--node-ca")
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def why_not() -> str | None:
    return None if shutil.which("openssl") else "openssl is missing (Debian: openssl)"


class Authority:
    """One that signs nodes' certificates."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        directory.mkdir(parents=True)
        self.file = directory / "ca.pem"
        self._openssl("req", "-x509", *NEW_KEY, "-days", "3650", "-subj", "/CN=TarnDB nodes", "-keyout", "ca.key", "-out", "ca.pem")

    def flags(self, address: str) -> list[str]:
        """Those of a node at `address`."""
        self._openssl(
            "req", *NEW_KEY, "-subj", f"/CN={address}", "-addext", f"subjectAltName=IP:{address}",
            "-keyout", f"{address}.key", "-out", f"{address}.csr",
        )
        self._openssl(
            "x509", "-req", "-in", f"{address}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "365",
            "-copy_extensions", "copy", "-out", f"{address}.pem",
        )
        certificate, key = self.directory / f"{address}.pem", self.directory / f"{address}.key"
        return [word for pair in zip(SETTINGS, (certificate, key, self.file), strict=True) for word in map(str, pair)]

    def _openssl(self, *words):
        done = subprocess.run(("openssl", *words), cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, f"openssl {' '.join(words)}: {done.stderr}"

"""Certificates for nodes and clients, made as docs/reference/operations.md says, with openssl."""

import pathlib
import shutil
import subprocess

SETTINGS = ("--node-certificate", "--node-key", "--node-ca")
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def why_not() -> str | None:
    return None if shutil.which("openssl") else "openssl is missing (Debian: openssl)"


class Authority:
    """One that signs certificates."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        directory.mkdir(parents=True)
        self.file = directory / "ca.pem"
        self._openssl("req", "-x509", *NEW_KEY, "-days", "3650", "-subj", "/CN=TarnDB nodes", "-keyout", "ca.key", "-out", "ca.pem")

    def flags(self, address: str) -> list[str]:
        """Those of a node at `address`."""
        files = (*self.issue(address, f"IP:{address}"), self.file)
        return [word for pair in zip(SETTINGS, files, strict=True) for word in map(str, pair)]

    def server_flags(self) -> list[str]:
        """Those of a server on this machine for TLS to its clients."""
        certificate, key = self.issue("server", "IP:127.0.0.1,DNS:localhost")
        return ["--tls-certificate", str(certificate), "--tls-key", str(key)]

    def issue(self, name: str, subject: str, *options: str) -> tuple[pathlib.Path, pathlib.Path]:
        """A certificate for a subject (`IP:…`, `DNS:…`), and its key; given again, another one in the same files."""
        self._openssl(
            "req", *NEW_KEY, "-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}", "-keyout", f"{name}.key.new", "-out", f"{name}.csr",
        )
        self._openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", *(options or ("-days", "365")),
            "-copy_extensions", "copy", "-out", f"{name}.pem.new",
        )
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        for file in (key, certificate):
            file.with_name(f"{file.name}.new").rename(file)
        return certificate, key

    def _openssl(self, *words):
        openssl(self.directory, *words)


def self_signed(directory: pathlib.Path, name: str, subject: str) -> tuple[pathlib.Path, pathlib.Path]:
    """A certificate that no authority has signed, and its key."""
    files = directory / f"{name}.self.pem", directory / f"{name}.self.key"
    names = ("-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}")
    openssl(directory, "req", "-x509", *NEW_KEY, "-days", "365", *names, "-out", str(files[0]), "-keyout", str(files[1]))
    return files


def openssl(directory: pathlib.Path, *words: str):
    done = subprocess.run(("openssl", *words), cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"openssl {' '.join(words)}: {done.stderr}"

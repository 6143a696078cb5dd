#!/usr/bin/env python3
"""Prints the software bill of materials of the binary, as CycloneDX 1.5: every crate that is compiled into it, with its version, licence and checksum.

Needs no network: cargo reads Cargo.lock and the sources that it has.
"""

import json
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(version: str) -> None:
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock}
    server = next(package["id"] for package in packages.values() if package["name"] == "tarndb-server")
    reached, waiting = set(), [server]
    while waiting:
        crate = waiting.pop()
        if crate not in reached:
            reached.add(crate)
            # Neither what only tests use, nor what only runs while it is built.
            waiting += [dep["pkg"] for dep in nodes[crate]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]

    def component(package: dict) -> dict:
        name, number = package["name"], package["version"]
        found = {"type": "library", "bom-ref": f"pkg:cargo/{name}@{number}", "name": name, "version": number, "purl": f"pkg:cargo/{name}@{number}"}
        if package["license"]:
            found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksum := checksums.get((name, number)):
            found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return found

    def reference(crate: str) -> str:
        return f"pkg:cargo/{packages[crate]['name']}@{packages[crate]['version']}"

    order = sorted(reached, key=lambda crate: (packages[crate]["name"], packages[crate]["version"]))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "bom-ref": "tarndb", "name": "tarndb", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
        },
        "components": [component(packages[crate]) for crate in order],
        "dependencies": [{"ref": "tarndb", "dependsOn": [reference(server)]}]
        + [{"ref": reference(crate), "dependsOn": sorted({reference(dep["pkg"]) for dep in nodes[crate]["deps"] if dep["pkg"] in reached})} for crate in order],
    }
    print(json.dumps(bill, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Signature version 4 as a server checks it: from AWS's reference, apart from what TarnDB signs with."""

import hashlib
import hmac
import urllib.parse


def why_not(method: str, target: str, headers, body: bytes, keys: dict[str, str]) -> str | None:
    """The code of S3's error, if a request is not signed by one of `keys` (secrets by ids)."""
    digest = headers.get("x-amz-content-sha256", "")
    if hashlib.sha256(body).hexdigest() != digest:
        return "XAmzContentSHA256Mismatch"
    algorithm, _, rest = headers.get("authorization", "").partition(" ")
    fields = dict(field.strip().split("=", 1) for field in rest.split(",") if "=" in field)
    if algorithm != "AWS4-HMAC-SHA256" or set(fields) != {"Credential", "SignedHeaders", "Signature"}:
        return "AccessDenied"
    name, day, region, service, last = fields["Credential"].split("/")
    if name not in keys:
        return "InvalidAccessKeyId"
    path, _, query = target.partition("?")
    pairs = sorted(pair if "=" in pair else f"{pair}=" for pair in query.split("&") if pair)
    signed = fields["SignedHeaders"].split(";")
    assert {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed), signed
    assert urllib.parse.quote(urllib.parse.unquote(path), safe="/-._~") == path
    listed = "".join(f"{header}:{' '.join(headers[header].split())}\n" for header in signed)
    canonical = "\n".join((method, path, "&".join(pairs), listed, fields["SignedHeaders"], digest))
    scope = "/".join((day, region, service, last))
    text = "\n".join((algorithm, headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{keys[name]}".encode()
    for word in (day, region, service, last):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    wanted = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return None if hmac.compare_digest(wanted, fields["Signature"]) else "SignatureDoesNotMatch"

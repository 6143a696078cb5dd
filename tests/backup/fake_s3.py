"""An S3 of one bucket in memory, which checks signatures, and lies, stalls and refuses when it is told to.

`faults` has triples: what an operation has to be called, how it fails, how often. An operation is called by its method and what it is about:
`PUT 000.rows`, `POST uploads`, `PUT part`, `GET parts`, `POST complete`, `DELETE upload`, `GET list`, `GET uploads`, `HEAD 000.rows`. Failures are functions of this module.
"""

import base64
import contextlib
import hashlib
import http.server
import ssl
import threading
import urllib.parse
import zlib
from xml.sax.saxutils import escape

import signatures

BUCKET = "backups"


def checksum(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


class Answer:
    def __init__(self, status=200, body=b"", **headers):
        self.status, self.body, self.headers = status, body, {name.replace("_", "-"): value for name, value in headers.items()}


def error(status, code, text="", **headers):
    """A failure: this error, and nothing is done."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code} it is</Message>{text}</Error>".encode()
    return lambda handler, serve: handler.say(Answer(status, body, **headers))


def page(handler, serve):
    """What a proxy says that wants to be logged in to."""
    handler.say(Answer(200, b"<html>log in here</html>"))


def drop(handler, serve):
    """The connection ends without an answer, and nothing is done."""
    handler.close_connection = True


def lose(handler, serve):
    """It is done, and the connection ends without an answer."""
    serve()
    handler.close_connection = True


def hang(handler, serve):
    """Nothing ever comes."""
    handler.server.ending.wait()
    handler.close_connection = True


def drip(handler, serve):
    """The answer comes, a byte a while."""
    handler.send_response(200)
    handler.send_header("content-length", "100000")
    handler.end_headers()
    handler.close_connection = True
    with contextlib.suppress(OSError):
        while not handler.server.ending.wait(0.2):
            handler.wfile.write(b" ")
            handler.wfile.flush()


def cut(handler, serve):
    """Half of the answer's body comes."""
    handler.say(serve(), share=0.5)
    handler.close_connection = True


def flip(handler, serve):
    """A bit of the answer's body is another one."""
    answer = serve()
    middle = len(answer.body) // 2
    answer.body = answer.body[:middle] + bytes([answer.body[middle] ^ 1]) + answer.body[middle + 1 :]
    handler.say(answer)


def whole(handler, serve):
    """The object instead of a range of it."""
    del handler.headers["range"]
    handler.say(serve())


def lengthen(handler, serve):
    """The object is said to be longer than it is."""
    answer = serve()
    answer.headers["content-length"] = str(int(answer.headers["content-length"]) + 1)
    handler.say(answer)


def garble(handler, serve):
    """Other bytes are stored than were sent, and S3 says so by their checksum."""
    answer = serve()
    answer.headers["x-amz-checksum-crc32"] = "AAAAAA=="
    handler.say(answer)


def without_extras(handler, serve):
    """Neither conditions nor checksums are known."""
    known = not any(name in handler.headers for name in ("if-none-match", "if-match", "x-amz-checksum-crc32", "x-amz-checksum-algorithm"))
    handler.say(serve()) if known else error(501, "NotImplemented")(handler, serve)


def endless(handler, serve):
    """A listing that has nothing and always goes on."""
    end = "<IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken><NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>b</NextUploadIdMarker>"
    handler.say(Answer(200, f"<ListBucketResult>{end}</ListBucketResult><ListMultipartUploadsResult>{end}</ListMultipartUploadsResult>".encode()))


class FakeS3(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, keys: dict[str, str], certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.keys, self.objects, self.uploads, self.faults, self.asked = keys, {}, {}, [], []
        self.lock, self.ending = threading.RLock(), threading.Event()
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Clients go when they have seen enough."""

    def take_fault(self, operation: str):
        with self.lock:
            self.asked.append(operation)
            for at, (wanted, failure, times) in enumerate(self.faults):
                if wanted in (operation, operation.split(" ")[0], "*"):
                    self.faults[at : at + 1] = [(wanted, failure, times - 1)] if times > 1 else []
                    return failure
        return None

    @contextlib.contextmanager
    def serving(self):
        thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self.ending.set()
            self.shutdown()
            thread.join()
            self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_any(self):
        path, _, query = self.path.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        _, bucket, *key = urllib.parse.unquote(path).split("/", 2)
        self.key = key[0] if key else ""
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        refused = signatures.why_not(self.command, self.path, self.headers, self.body, self.server.keys)
        if refused:
            return error(403, refused)(self, None)
        if bucket != BUCKET:
            return error(404, "NoSuchBucket")(self, None)
        failure = self.server.take_fault(self.operation())
        return failure(self, self.serve) if failure else self.say(self.serve())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def operation(self) -> str:
        about = self.key.rsplit("/", 1)[-1]
        if "uploadId" in self.query:
            about = {"GET": "parts", "PUT": "part", "POST": "complete", "DELETE": "upload"}[self.command]
        elif not self.key:
            about = "uploads" if "uploads" in self.query else "list"
        elif self.command == "POST":
            about = "uploads"
        return f"{self.command} {about}"

    def say(self, answer: Answer, share=1.0):
        self.send_response(answer.status)
        for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(OSError):
                self.wfile.write(answer.body[: int(len(answer.body) * share)])
                self.wfile.flush()

    def serve(self) -> Answer:
        with self.server.lock:
            return getattr(self, f"serve_{self.command.lower()}")()

    def serve_get(self) -> Answer:
        objects = self.server.objects
        prefix = self.query.get("prefix", "")
        if not self.key and "uploads" in self.query:
            found = [(key, number) for number, (key, _) in self.server.uploads.items() if key.startswith(prefix)]
            listed = "".join(f"<Upload><Key>{escape(key)}</Key><UploadId>{number}</UploadId></Upload>" for key, number in found)
            return Answer(200, f"<ListMultipartUploadsResult>{listed}<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>".encode())
        if not self.key:
            # Two a page: listings go on.
            keys = sorted(key for key in objects if key.startswith(prefix) and key > self.query.get("continuation-token", ""))
            listed = "".join(f"<Contents><Key>{escape(key)}</Key></Contents>" for key in keys[:2])
            more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{escape(keys[1])}</NextContinuationToken>" if len(keys) > 2 else ""
            return Answer(200, f"<ListBucketResult xmlns='x'>{listed}{more}</ListBucketResult>".encode())
        if "uploadId" in self.query:
            _, parts = self.server.uploads.get(self.query["uploadId"], (None, None))
            if parts is None:
                return Answer(404, b"<Error><Code>NoSuchUpload</Code></Error>")
            # One a page: listings go on.
            number = int(self.query.get("part-number-marker", 0)) + 1
            if number not in parts:
                return Answer(200, b"<ListPartsResult xmlns='x'><UploadId>u</UploadId><IsTruncated>false</IsTruncated></ListPartsResult>")
            listed = f"<PartNumber>{number}</PartNumber><ETag>&quot;{hashlib.md5(parts[number]).hexdigest()}&quot;</ETag><Size>{len(parts[number])}</Size><ChecksumCRC32>{checksum(parts[number])}</ChecksumCRC32>"
            more = f"<IsTruncated>true</IsTruncated><NextPartNumberMarker>{number}</NextPartNumberMarker>"
            return Answer(200, f"<ListPartsResult xmlns='x'><UploadId>u</UploadId><Part>{listed}</Part>{more}</ListPartsResult>".encode())
        if self.key not in objects:
            return Answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        body = objects[self.key]
        tag = hashlib.md5(body).hexdigest()
        if self.headers.get("if-match", tag) != tag:
            return Answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        wanted = self.headers.get("range")
        if not wanted:
            return Answer(200, body, etag=tag)
        first, last = map(int, wanted.removeprefix("bytes=").split("-"))
        piece = body[first : last + 1]
        return Answer(206, piece, etag=tag, content_range=f"bytes {first}-{first + len(piece) - 1}/{len(body)}")

    def serve_head(self) -> Answer:
        body = self.server.objects.get(self.key)
        if body is None:
            return Answer(404)
        return Answer(200, etag=hashlib.md5(body).hexdigest(), content_length=str(len(body)))

    def serve_put(self) -> Answer:
        sum_sent, sum_found = self.headers.get("x-amz-checksum-crc32"), checksum(self.body)
        if sum_sent not in (None, sum_found):
            return Answer(400, b"<Error><Code>BadDigest</Code></Error>")
        if "uploadId" in self.query:
            upload = self.server.uploads.get(self.query["uploadId"])
            if upload is None:
                return Answer(404, b"<Error><Code>NoSuchUpload</Code></Error>")
            upload[1][int(self.query["partNumber"])] = self.body
        elif self.is_other():
            return Answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        else:
            self.server.objects[self.key] = self.body
        return Answer(200, etag=hashlib.md5(self.body).hexdigest())

    def is_other(self) -> bool:
        """Whether a condition does not hold."""
        found = self.server.objects.get(self.key)
        wanted = self.headers.get("if-match")
        return self.headers.get("if-none-match") == "*" and found is not None or wanted is not None and (found is None or hashlib.md5(found).hexdigest() != wanted)

    def serve_post(self) -> Answer:
        if "uploads" in self.query:
            number = f"upload-{len(self.server.asked)}+/="
            self.server.uploads[number] = (self.key, {})
            return Answer(200, f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>".encode())
        key, parts = self.server.uploads.get(self.query["uploadId"], (None, None))
        if parts is None:
            return Answer(404, b"<Error><Code>NoSuchUpload</Code></Error>")
        count = self.body.count(b"<PartNumber>")
        chosen = [parts[number] for number in range(1, count + 1)]
        sums = [text.split(b"</ChecksumCRC32>")[0].decode() for text in self.body.split(b"<ChecksumCRC32>")[1:]]
        if sums not in ([], [checksum(part) for part in chosen]):
            return Answer(400, b"<Error><Code>InvalidPart</Code></Error>")
        if any(len(part) < 5 << 20 for part in chosen[:-1]):
            return Answer(400, b"<Error><Code>EntityTooSmall</Code></Error>")
        self.server.objects[key] = b"".join(chosen)
        del self.server.uploads[self.query["uploadId"]]
        return Answer(200, b"<CompleteMultipartUploadResult xmlns='x'></CompleteMultipartUploadResult>")

    def serve_delete(self) -> Answer:
        if "uploadId" in self.query:
            self.server.uploads.pop(self.query["uploadId"], None)
        else:
            self.server.objects.pop(self.key, None)
        return Answer(204)

"""Requests that no schema leads to: each is refused with 4xx in good time, and none is taken for another one."""

import json
import socket
import time

DEEP = 100_000
ODD_BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "NUL": b"\0",
    "NUL in a text": json.dumps({"name": "a\0b", "config": "", "folder": "/\0", "runs_dir": "/\0tmp"}).encode(),
    "a NUL behind JSON": b"{}\0",
    "deep lists": b"[" * DEEP,
    "deep objects": b'{"name":' * DEEP,
    "deep and closed": b"[" * DEEP + b"]" * DEEP,
    "a deep member": b'{"name":"a","after":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a list": b"[]",
    "a text": b'"text"',
    "null": b"null",
    "a member twice": b'{"name":"a","name":"b"}',
    "a huge number": b'{"priority":' + b"9" * 400 + b"}",
    "a number beyond 64 bits": b'{"priority":9223372036854775808}',
    "a fraction": b'{"priority":1.5}',
    "an exponent": b'{"priority":1e400}',
    "NaN": b'{"priority":NaN}',
    "a truth for a number": b'{"priority":true}',
    "a number for a text": b'{"name":7}',
    "an object for a list": b'{"after":{}}',
    "negative needs": json.dumps({"name": "a", "config": "", "folder": "/", "runs_dir": "/", "needs": {"threads": -1}}).encode(),
    "no UTF-8": b'{"name":"\xff\xfe"}',
    "half a surrogate": b'{"name":"\\ud800"}',
    "a long text": b'{"name":"' + b"x" * (2 << 20) + b'"}',
    "many members": json.dumps({f"m{i}": i for i in range(100_000)}).encode(),
    "many jobs": json.dumps({"name": "a", "after": list(range(1, 200_000))}).encode(),
    "a YAML bomb": json.dumps({"name": "a", "folder": "/", "runs_dir": "/", "config": "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))}).encode(),
    "deep YAML": json.dumps({"name": "a", "folder": "/", "runs_dir": "/", "config": "[" * DEEP}).encode(),
}
ODD_TARGETS = [
    "/v1/jobs/0", "/v1/jobs/-1", "/v1/jobs/1.5", "/v1/jobs/9223372036854775808", "/v1/jobs/9223372036854775807",
    "/v1/jobs/1%00", "/v1/jobs/%31/../1", "/v1/jobs/%zz", "/v1/jobs//", "/v1//jobs", "/v1/jobs/1/progress/..", "//",
    "/v1/jobs?limit=0", "/v1/jobs?limit=99999999999999999999", "/v1/jobs?limit=1e3", "/v1/jobs?state=nothing",
    "/v1/jobs?state=running&state=held", "/v1/jobs?name=%00", "/v1/jobs?unknown=1", "/v1/jobs?" + "a" * 10_000,
    "/v1/jobs/1/progress%2f", "/v1/jobs/999999/progress", "/%2e%2e/%2e%2e/etc/passwd", "/v1/sweeps/0", "/v1/sweeps/7",
    "/v1/openapi.json/", "/page.html"]


def ask(daemon, method, target, body=b""):
    head = (f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {daemon.token}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=20) as connection:
        try:
            connection.sendall(head + body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was read
        answer = b""
        while part := connection.recv(65536):
            answer += part
    status = int(answer.split()[1])
    return status, time.monotonic() - began, answer


def send_all(daemon):
    slowest = (0, "")
    for method, target in [("POST", "/v1/jobs"), ("PATCH", "/v1/jobs/1"), ("POST", "/v1/sweeps")]:
        for name, body in ODD_BODIES.items():
            status, took, answer = ask(daemon, method, target, body)
            assert 400 <= status < 500, f"{method} {target}, {name}: {status} {answer[:300]}"
            slowest = max(slowest, (took, f"{method} {target}, {name}"))
    for target in ODD_TARGETS:
        status, took, answer = ask(daemon, "GET", target)
        assert 400 <= status < 500, f"GET {target}: {status} {answer[:300]}"
        slowest = max(slowest, (took, target))
    print(f"odd requests: all refused; the slowest took {1000 * slowest[0]:.0f} ms: {slowest[1]}")
    assert slowest[0] < 5, slowest

"""Checks of scripts/deployments that need more than a schema."""

import collections
import concurrent.futures
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import yaml

NODES = 3
USERS = [f"{number * 0x1A2B3C4D % 2**32:08x}" for number in range(1, 61)]


def fail(text):
    sys.exit(f"deployments: {text}")


def expect(holds, text):
    if not holds:
        fail(text)


class Node:
    """A stand-in for a node: responds with its number. It can drain, end and start again."""

    def __init__(self, number, port=0):
        self.number = number
        self.is_ready = True
        node = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = str(node.number).encode()
                self.send_response(200 if node.is_ready or self.path != "/readyz" else 503)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def get_request(self):
                accepted = super().get_request()
                node.connections.append(accepted[0])
                return accepted

            def handle_error(self, *_):
                pass  # A proxy has closed its connection.

        self.connections = []
        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def end(self):
        """Ends like a process that is killed."""
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()


class NodeProcess:
    """A node in a process of its own, which can hang."""

    def __init__(self, number):
        self.number = number
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--node", str(number)], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline())

    def hang(self):
        self.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.process.kill()
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def block(language, page="docs/fleet.md"):
    with open(page) as file:
        found = re.search(rf"^```{language}\n(.*?)^```", file.read(), re.S | re.M)
    expect(found, f"{page} has no block of {language}")
    return found[1]


def replaced(text, pattern, new):
    changed, count = re.subn(pattern, new, text, flags=re.M)
    expect(count, f"a configuration does not contain {pattern!r}")
    return changed


def haproxy_configuration(nodes, port, interval):
    text = block("haproxy")
    text = replaced(text, r"^frontend state$", f"frontend state\n    bind 127.0.0.1:{port}")
    servers = "".join(f"    server node{node.number} 127.0.0.1:{node.port}\n" for node in nodes)
    text = replaced(text, r"(^    server node\d .*\n)+", servers)
    if interval:
        text = replaced(text, r"check inter 2s", f"check inter {interval}")
    return f"global\n    maxconn 1000\n{defaults_of_haproxy()}\n{text}"


def defaults_of_haproxy():
    return block("haproxy", "docs/deploying.md").split("\nfrontend ")[0]


def nginx_configuration(nodes, port, folder):
    text = block("nginx")
    servers = "".join(f"    server 127.0.0.1:{node.port} max_fails=1 fail_timeout=2s;\n" for node in nodes)
    text = replaced(text, r"(^    server 10\..* max_fails=1 fail_timeout=2s;\n)+", servers)
    modules = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"    {module}_temp_path {folder}/{module};\n" for module in modules)
    return f"""daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 500; }}
http {{
    access_log off;
{temporary}
{text}
    server {{
        listen 127.0.0.1:{port};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        location / {{ proxy_pass http://lockstep; }}
    }}
}}
"""


def ask(port, user=None):
    """The number of the node that responds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    fields = {"Authorization": f"Bearer ls_{user}_0123456789abcdef"} if user else {}
    connection.request("GET", "/v1/favorites", headers=fields)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    expect(response.status == 200, f"a request gets {response.status}")
    return int(body)


def eventually(holds, text, seconds=15):
    end = time.monotonic() + seconds
    while not holds():
        expect(time.monotonic() < end, f"{text} after {seconds} s")
        time.sleep(0.1)


def check_routing(name, start, has_checks):
    nodes = [Node(number) for number in range(NODES)]
    port = free_port()
    folder = tempfile.mkdtemp(prefix="lockstep-deployments-")
    os.chmod(folder, 0o755)
    path = os.path.join(folder, "configuration")
    process = None
    try:
        process = start(nodes, port, folder, path)

        def listens():
            expect(process.poll() is None, f"{name} has ended with {process.returncode}")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        eventually(listens, f"{name} does not listen")
        homes = {user: ask(port, user) for user in USERS}
        for user, home in homes.items():
            for _ in range(3):
                expect(ask(port, user) == home, f"{name}: the requests of a user reach several nodes")
        spread = collections.Counter(homes.values())
        expect(len(spread) == NODES, f"{name}: the users reach only the nodes {sorted(spread)}")
        anonymous = {ask(port) for _ in range(60)}
        expect(len(anonymous) == NODES, f"{name}: requests without a token reach only the nodes {sorted(anonymous)}")

        def check_others(gone):
            now = {user: ask(port, user) for user in USERS}
            expect(gone not in now.values(), f"{name}: requests reach a node that is gone")
            for user in USERS:
                expect(homes[user] in (gone, now[user]), f"{name}: a user of another node has moved")

        def is_avoided(number):
            return all(ask(port, user) != number for user in USERS)

        def are_home():
            return all(ask(port, user) == home for user, home in homes.items())

        if has_checks:
            nodes[0].is_ready = False
            eventually(lambda: is_avoided(0), f"{name} uses a node that drains")
            check_others(0)
            nodes[0].is_ready = True
            eventually(are_home, f"{name}: users do not come back")
        nodes[1].end()
        # No request fails meanwhile: `ask` expects 200.
        eventually(lambda: is_avoided(1), f"{name} uses a node that has ended")
        check_others(1)
        nodes[1] = Node(1, nodes[1].port)
        eventually(are_home, f"{name}: users do not come back")
        print(f"ok      {name}: {dict(sorted(spread.items()))} users of {NODES} nodes")
    finally:
        if process and process.poll() is None:
            process.terminate()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def start_haproxy(nodes, port, _, path, interval="100ms"):
    with open(path, "w") as file:
        file.write(haproxy_configuration(nodes, port, interval))
    checked = subprocess.run(["haproxy", "-c", "-q", "-f", path], capture_output=True, text=True, check=False)
    expect(checked.returncode == 0, f"HAProxy refuses the configuration in docs/fleet.md: {checked.stderr}")
    return subprocess.Popen(["haproxy", "-db", "-q", "-f", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def response_of(port, user):
    """The status, the fields, the body and the seconds of one request. The status is None if HAProxy closes the
    connection, as it does when the node's connection is one that other requests have used."""
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/favorites", headers={"Authorization": f"Bearer ls_{user}_0123456789abcdef"})
    try:
        response = connection.getresponse()
    except http.client.RemoteDisconnected:
        return None, {}, b"", time.monotonic() - start
    body = response.read()
    connection.close()
    return response.status, response.headers, body, time.monotonic() - start


def expect_problem(status, fields, body):
    expect(status in (502, 503), f"HAProxy responds with {status}")
    expect(fields["content-type"] == "application/problem+json", f"HAProxy's own error is {fields['content-type']}")
    expect(fields["retry-after"], "HAProxy's own error has no Retry-After")
    document = json.loads(body)
    expect(document["status"] == status and document["title"] and document["type"], f"HAProxy's own error is {body}")


def check_failures():
    """Nodes that hang, that cannot write, and that are gone, with the intervals of docs/fleet.md."""
    nodes = [NodeProcess(0), NodeProcess(1), Node(2)]
    port = free_port()
    folder = tempfile.mkdtemp(prefix="lockstep-deployments-")
    process = None
    try:
        process = start_haproxy(nodes, port, folder, os.path.join(folder, "configuration"), interval=None)
        homes = {}

        def are_spread():
            try:
                homes.update({user: ask(port, user) for user in USERS})
            except OSError:
                return False
            return len(set(homes.values())) == len(nodes)

        eventually(are_spread, "HAProxy does not use all nodes")
        users = [user for user in USERS if homes[user] == 0]
        nodes[0].hang()
        with concurrent.futures.ThreadPoolExecutor(len(users)) as pool:
            responses = list(pool.map(lambda user: response_of(port, user), users))
        longest = max(seconds for *_, seconds in responses)
        expect(longest < 8, f"requests to a node that hangs take {longest:.1f} s")
        expect(any(status == 502 for status, *_ in responses), "no request to a node that hangs gets 502")
        for status, fields, body, _ in responses:
            if status:
                expect_problem(status, fields, body)
        expect(0 not in {ask(port, user) for user in USERS}, "HAProxy uses a node that hangs")
        nodes[1].end()
        nodes[2].is_ready = False
        # Requests must reach the node before HAProxy has checked it again, and afterwards too.
        end = time.monotonic() + 6
        while time.monotonic() < end:
            eventually(lambda: response_of(port, users[0])[2] == b"2", "reads do not reach a node that cannot write")
            time.sleep(0.1)
        nodes[2].end()
        eventually(lambda: response_of(port, users[0])[0] == 503, "HAProxy has a node")
        expect_problem(*response_of(port, users[0])[:3])
        print(f"ok      HAProxy: requests to a node that hangs take up to {longest:.1f} s")
    finally:
        for node in nodes[:2]:
            node.end()
        if process and process.poll() is None:
            process.terminate()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def start_nginx(nodes, port, folder, path):
    with open(path, "w") as file:
        file.write(nginx_configuration(nodes, port, folder))
    return subprocess.Popen(["nginx", "-e", "stderr", "-p", folder, "-c", path])


def check_compose():
    with open("compose.fleet.yaml") as file:
        compose = yaml.safe_load(file)
    services = compose["services"]
    with open("deploy/compose/haproxy.cfg") as file:
        configuration = file.read()
    for name in re.findall(r"^    server \w+ ([\w.]+):", configuration, re.M):
        expect(name in services, f"compose.fleet.yaml has no service {name}")
    for service in services.values():
        for name in service.get("depends_on", []):
            expect(name in services, f"compose.fleet.yaml has no service {name}")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            expect(
                os.path.exists(source) if source.startswith(".") else source in compose["volumes"],
                f"compose.fleet.yaml: there is no {source}",
            )
    # Both files choose the node in the same way.
    for line in (
        "http-request set-var", "balance", "hash-type", "option redispatch", "retries", "option httpchk", "use_backend"
    ):
        both = [
            [each.strip() for each in text.splitlines() if each.strip().startswith(line)]
            for text in (configuration, block("haproxy"))
        ]
        expect(both[0] and both[0] == both[1], f"deploy/compose/haproxy.cfg and docs/fleet.md differ in '{line}'")
    errors = re.findall(r"^    http-error .*$", configuration, re.M)
    expect(
        errors and errors == re.findall(r"^    http-error .*$", defaults_of_haproxy(), re.M),
        "deploy/compose/haproxy.cfg and docs/deploying.md differ in 'http-error'",
    )
    checks = [
        re.findall(r"check inter.*shutdown-sessions", text) for text in (configuration, block("haproxy"))
    ]
    expect(checks[0] and checks[0] == checks[1], "deploy/compose/haproxy.cfg and docs/fleet.md differ in their checks")
    checked = subprocess.run(
        ["haproxy", "-c", "-q", "-f", "deploy/compose/haproxy.cfg"], capture_output=True, text=True, check=False
    )
    expect(checked.returncode == 0, f"HAProxy refuses deploy/compose/haproxy.cfg: {checked.stderr}")
    print("ok      compose.fleet.yaml")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--node"]:
        print(Node(int(sys.argv[2])).port, flush=True)
        signal.pause()
    check_compose()
    check_failures()
    check_routing("HAProxy", start_haproxy, has_checks=True)
    check_routing("nginx", start_nginx, has_checks=False)

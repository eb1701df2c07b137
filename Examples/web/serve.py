"""Serves the example and the JavaScript client on loopback. Can start the Lockstep server too."""

import argparse
import functools
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.join(HERE, "..", "..", "web", "lockstep.js")

# Scripts come from this origin only, and none of them may turn text into markup.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self' {server}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    extensions_map = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", "": "text/plain"}

    def translate_path(self, path):
        if urllib.parse.urlsplit(path).path == "/lockstep.js":
            return self.server.client
        return super().translate_path(path)

    def do_GET(self):
        if urllib.parse.urlsplit(self.path).path != "/config.js":
            return super().do_GET()
        text = f"export const server = {json.dumps(self.server.lockstep)}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY.format(server=self.server.lockstep))
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_):
        pass


class Site(http.server.ThreadingHTTPServer):
    """A folder as a web site, with the client at /lockstep.js and the Lockstep server's address at /config.js."""

    daemon_threads = True

    def __init__(self, folder=HERE, client=CLIENT, port=0):
        super().__init__(("127.0.0.1", port), functools.partial(Handler, directory=folder))
        self.client = client
        self.lockstep = ""
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


def run(site, command):
    """Runs the Lockstep server beside the site until it ends, or until Ctrl-C or SIGTERM. Returns its exit code."""
    # A browser takes localhost for another origin. In a session of its own, the server gets each
    # signal once: a second one would end it at once.
    origins = f"{site.url},{site.url.replace('127.0.0.1', 'localhost')}"
    server = subprocess.Popen([*command, "--cors-origin", origins], stdout=subprocess.PIPE, text=True, start_new_session=True)
    for number in [signal.SIGINT, signal.SIGTERM]:
        signal.signal(number, lambda *_: server.terminate())
    for line in server.stdout:
        print(line, end="", flush=True)
        if " listening on " in line:
            site.lockstep = line.split()[-1]
            threading.Thread(target=site.serve_forever, daemon=True).start()
            print(f"example: {site.url}", flush=True)
    return server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 chooses a free port (default: 8000)")
    parser.add_argument("--server", default="http://127.0.0.1:8080", help="the Lockstep server, if it runs already")
    parser.add_argument("command", nargs="*", help="the command that starts the Lockstep server")
    arguments = parser.parse_args()
    try:
        site = Site(port=arguments.port)
    except OSError as error:
        sys.exit(f"cannot serve the example on port {arguments.port}: {error.strerror}")
    if arguments.command:
        sys.exit(run(site, arguments.command))
    site.lockstep = arguments.server
    print(f"example: {site.url}", flush=True)
    try:
        site.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

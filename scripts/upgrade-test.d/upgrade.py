"""A fleet is upgraded node by node while clients use it: see scripts/upgrade-test."""

import argparse
import copy
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults.d"))

# pylint: disable=wrong-import-position
from support.fault import Fault, eventually, expect, run
from support.fleet import Fleet
from support.mirror import Load
from support.postgresql import Cluster
from support.server import Server

from visits import Visit, Visitor

NODES = 3
# How long both versions serve side by side, in seconds.
SIDE_BY_SIDE = 4


class MixedFleet(Fleet):
    """A fleet whose nodes run one of two binaries."""

    def __init__(self, fault, connection, binaries):
        self.binaries = binaries
        # The ports of nodes that end or have ended.
        self.asked_to_end = set()
        # The node of each port, for messages.
        self.names = {}
        super().__init__(fault, connection, len(binaries))
        for index in range(len(binaries)):
            self.note(index)

    def begin(self, index):
        fault = copy.copy(self.fault)
        fault.server_path = self.binaries[index]
        return Server(
            fault, self.connections[index], name=f"node{index}",
            variables={"LOCKSTEP_ADMIN_TOKEN": self.ADMINISTRATOR},
        )

    def note(self, index):
        version = "new" if self.binaries[index] == self.fault.server_path else "old"
        self.names[self.nodes[index].port] = f"node {index} ({version})"
        self.asked_to_end.discard(self.nodes[index].port)

    def prepare(self, binary):
        """Starts one more node, which clients do not use yet. Returns its index."""
        self.connections.append(self.connections[0])
        self.variables.append({})
        self.binaries.append(binary)
        self.ports.append(None)
        self.nodes.append(self.begin(len(self.nodes)))
        return len(self.nodes) - 1

    def admit(self, index):
        """Lets clients use a node as soon as it listens."""
        self.nodes[index].listening()
        self.note(index)
        self.ports[index] = self.nodes[index].port

    def end(self, index):
        """Ends a node while clients use it. A client that waits there gets a response. Returns how long it took."""
        self.asked_to_end.add(self.ports[index])
        client = self.client(index)
        expect(client.sign_up(f"waiting{len(self.asked_to_end)}").status == 201, "a sign-up fails")
        cursor = client.get("/v1/changes").json["cursor"]
        client.send_request("GET", f"/v1/changes?wait=50&since={cursor}")
        time.sleep(0.05)
        start = time.monotonic()
        self.stop(index)
        taken = time.monotonic() - start
        answer = client.response()
        expect(answer.status == 200 and not answer.json["changesets"], lambda: f"a request that waits gets {answer}")
        client.close()
        return taken

    def begin_again(self, index, binary):
        """Starts a node that replaces one that has ended."""
        self.binaries[index] = binary
        ended, self.nodes[index] = self.nodes[index], self.begin(index)
        self.fault.servers.remove(ended)
        self.admit(index)


def schema(cluster, database="postgres"):
    """How many migrations the store has. Each must be there once."""
    numbers = [int(row[0]) for row in cluster.query("SELECT number FROM migrations ORDER BY number", database)]
    expect(numbers == list(range(1, len(numbers) + 1)), lambda: f"the migrations of the store are {numbers}")
    return len(numbers)


def definition(cluster):
    """The tables, columns and indexes, the migrations, and the nodes that have a lease."""
    return [
        cluster.query(sql) for sql in (
            "SELECT table_name, column_name, data_type, column_default FROM information_schema.columns "
            "WHERE table_schema = 'public' ORDER BY 1, 2",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
            "SELECT number, name, checksum, applied_at FROM migrations ORDER BY 1",
            "SELECT id FROM nodes ORDER BY 1",
        )
    ]


def join_beside_dump(fleet, load, cluster, binary):
    """Starts a node, whose migration must not stop the writes of the other nodes while a transaction reads all tables,
    as pg_dump does. Returns the node's index."""
    tables = [row[0] for row in cluster.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    dump = cluster.open_session()
    dump.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    dump.run(f"LOCK TABLE {', '.join(tables)} IN ACCESS SHARE MODE")
    index = fleet.prepare(binary)
    load.run(2)
    load.expect_progress(20, 10)
    dump.run("COMMIT")
    dump.close()
    return index


def serve_side_by_side(fleet, load, old, new):
    """Lets two nodes serve, and checks what clients see if they use both."""
    end = time.monotonic() + SIDE_BY_SIDE
    count = 0
    while time.monotonic() < end or count < 2:
        ports = fleet.ports[old], fleet.ports[new]
        Visit(load, f"pair{count}", *(ports if count % 2 else reversed(ports))).run()
        load.check()
        count += 1
    # All nodes have the same state, which each follower has too.
    load.settle()
    load.resume()
    return count


def expect_refusal(fault, cluster, old, known, present):
    """An old node does not start, says why in one sentence, and changes nothing."""
    before = definition(cluster)
    starting = copy.copy(fault)
    starting.server_path = old
    node = Server(starting, cluster.connection(), name="refused")
    node.refuses([78], f"it has schema {present}, and this lockstep knows schemas up to {known}\\.")
    lines = node.said().splitlines()
    expect(len(lines) == 1, lambda: f"a node that refuses to start says more than one thing: {lines}")
    expect(not node.listens, "a node that refuses to start says that it listens")
    expect(definition(cluster) == before, "a node that refused to start has changed the database")
    fault.servers.remove(node)


def migrate_at_once(fault, cluster, old, count=4):
    """Several new nodes start at once on a store that an old node serves. Only one of them migrates it."""
    cluster.query("CREATE DATABASE another")
    fleet = MixedFleet(fault, cluster.connection("another"), [old])
    known = schema(cluster, "another")
    client = fleet.client(0)
    expect(client.sign_up("before").status == 201, "a sign-up fails")
    expect(client.send("PUT", "/v1/favorites/a", {"title": "before"}).status == 201, "a write fails")
    # Stops the first node before it records its migration, until the others wait for it.
    blocker = cluster.open_session("another")
    blocker.run("BEGIN")
    blocker.run("LOCK TABLE migrations IN SHARE MODE")
    nodes = range(1, 1 + count)
    for index in nodes:
        fleet.prepare(fault.server_path)
    if known != schema(cluster):
        waiting = (
            "SELECT count(*) FILTER (WHERE locktype = 'relation'), count(*) FILTER (WHERE locktype = 'advisory') "
            "FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = 'another'"
        )
        eventually(
            lambda: cluster.query(waiting) == [["1", str(count - 1)]],
            lambda: f"{count} nodes do not wait for each other: {cluster.query(waiting)}",
        )
        expect(not any(fleet.nodes[index].listens for index in nodes), "a node listens before the schema is migrated")
    blocker.run("COMMIT")
    blocker.close()
    for index in nodes:
        fleet.admit(index)
    expect(schema(cluster, "another") == schema(cluster), "nodes that start at once migrate to another schema")
    for index in range(len(fleet.nodes)):
        other = fleet.client(index, client.token)
        answer = other.get("/v1/favorites/a")
        expect(answer.status == 200 and answer.json["title"] == "before", lambda: f"a favorite is lost: {answer}")
        expect(other.send("PUT", f"/v1/favorites/{index}", {}).status == 201, "a write after a migration fails")
        other.close()
    answer = client.get("/v1/favorites", {"Prefer": "consistency=strict"})
    expect(len(answer.json["items"]) == 1 + len(fleet.nodes), lambda: f"after writes through all nodes: {answer}")
    client.close()
    fleet.stop_all()


def expect_no_damage(fault, connection):
    ended = subprocess.run(
        [fault.server_path, "check", "--store", connection], capture_output=True, text=True, check=False
    )
    expect(
        ended.returncode == 0 and "No damage." in ended.stdout,
        lambda: f"lockstep check exits with {ended.returncode}: {ended.stdout}{ended.stderr}",
    )


def body(fault: Fault):
    new = fault.server_path
    cluster = Cluster(fault).start()
    fleet = MixedFleet(fault, cluster.connection(), [old_path] * NODES)
    before = schema(cluster)
    load = Load(fault, fleet, writers=2, followers=3, pause_between=0.01).start()
    visitors = [Visitor(load, 0)]
    for visitor in visitors:
        visitor.start()
    slowest_end = 0
    try:
        load.expect_progress(50)
        joining = join_beside_dump(fleet, load, cluster, new)
        start = time.monotonic()
        fleet.admit(joining)
        joined_in = time.monotonic() - start
        after = schema(cluster)
        load.expect_progress(20)
        pairs = serve_side_by_side(fleet, load, 0, NODES)
        for index in range(NODES):
            slowest_end = max(slowest_end, fleet.end(index))
            if index == 0 and before != after:
                expect_refusal(fault, cluster, old_path, before, after)
            elif index == 0:
                # Without a migration between the two versions, an old node may restart.
                fleet.begin_again(index, old_path)
                slowest_end = max(slowest_end, fleet.end(index))
            load.expect_progress(20)
            fleet.begin_again(index, new)
            load.expect_progress(20)
        load.run(1)
        load.settle()
        # The writers are paused, so the visitors end their visits too.
        load.run_until(lambda: all(visitor.is_idle for visitor in visitors), "a visit does not end", 120)
        load.settle()
        fleet.stop_all()
    finally:
        load.end()
    expect_no_damage(fault, cluster.connection())
    migrate_at_once(fault, cluster, old_path)
    expect_no_damage(fault, cluster.connection("another"))
    expect(load["visits"] > pairs, "there were no visits at random nodes")
    restarts = "an old node that restarts is refused with 78" if before != after else "an old node restarts"
    return (
        f"schema {before} to {after}: the first new node listens after {joined_in:.1f} s beside {NODES} old ones; "
        f"{pairs} visits at an old and a new node; {restarts}; {NODES} nodes replaced, slowest end "
        f"{slowest_end:.1f} s; {load.summary}; slowest write {load.slowest:.1f} s; {load['visits']} visits, "
        f"{load['visits: requests']} requests, all as promised ({load['visits: unanswered']} without a response, "
        f"{load['visits: refused']} refused, {load['visits: screens ended']} screens ended with their node); "
        "no damage; 4 new nodes that start at once migrate once"
    )


options = argparse.ArgumentParser(add_help=False)
options.add_argument("--old", required=True)
options, sys.argv[1:] = options.parse_known_args()
old_path = options.old
run(body, "upgrade", uses_seed=True)

"""Favorites, defaults, profile, actions and registered defaults."""

from serving import ADMINISTRATOR
from users import sign_up

PATCH = "Content-Type: application/json-patch+json"
MERGE = "Content-Type: application/merge-patch+json"


def conditions(recorder, method, path, body, present):
    """Writes with preconditions that hold and that fail. `present` is the path whose ETag they use."""
    ask = lambda *fields, **more: recorder.ask(method, path, body, *fields, **more)
    old = recorder.get(present)
    ask('If-Match: "other"')
    ask(f"If-Match: W/{old.etag}")
    ask(f"If-None-Match: {old.etag}")
    ask("If-None-Match: *")
    ask(f'If-Match: "other", {old.etag}')
    ask(f"If-Match: {old.etag}")
    ask("If-Match: *")
    ask(f'If-Match: "{old.cursor}"')
    recorder.get(present)


def keyed(recorder, method, path, body, other, *fields):
    """A write with a key, the same again, and the same key for another write."""
    key = f"Idempotency-Key: {method} {path}"
    recorder.ask(method, path, body, key, *fields)
    recorder.ask(method, path, body, key, *fields)
    recorder.ask(method, path, other, key, *fields)
    recorder.ask(method, path + "?x=1", body, key, *fields)


def favorites(recorder):
    sign_up(recorder, "favorites")
    empty = recorder.get("/v1/favorites")
    put, get, patch = recorder.put, recorder.get, recorder.patch
    put("/v1/favorites/a", "")
    put("/v1/favorites/b", {"title": "B", "data": {"n": 1, "list": [1, 2.5, None, True, "x"]}})
    put("/v1/favorites/c", {"title": "C", "index": 0})
    put("/v1/favorites/d", {"title": "D", "index": 99, "data": None})
    put("/v1/favorites/b", {"title": "B", "data": {"n": 1, "list": [1, 2.5, None, True, "x"]}})
    put("/v1/favorites/b", {"title": "B2", "index": 0})
    put("/v1/favorites/b", {"id": "b", "title": None, "addedAt": "x", "updatedAt": 1})
    for body in ({"id": "other"}, {"title": 1}, {"title": "t" * 513}, {"data": "d" * 20000}, {"index": -1}, {"index": 1.5},
                 {"index": "1"}, {"title": [], "index": {}, "more": 1, "id": 3}, {"title": "\u0000\u2028\U0001f600é"}):
        put("/v1/favorites/e", body)
        patch("/v1/favorites/a", body)
    for name in ("photo%3A1", "a%2Fb", "%E2%82%AC", "%F0%9F%98%80", "sp%20ace", "pl+us", "%00", "%0A", "%zz", "%FF", "x" * 256,
                 "x" * 257, "e%CC%81", "%C3%A9", "..", ".", "a;b", "a,b", "%2e%2e", "A"):
        put(f"/v1/favorites/{name}", {"title": "named"})
        get(f"/v1/favorites/{name}")
    get("/v1/favorites//position")
    conditions(recorder, "PUT", "/v1/favorites/a", {"title": "conditional"}, "/v1/favorites/a")
    conditions(recorder, "PATCH", "/v1/favorites/a", {"data": {"x": {"y": 1}}}, "/v1/favorites/a")
    conditions(recorder, "PUT", "/v1/favorites/a/position", {"index": 3}, "/v1/favorites/a")
    put("/v1/favorites/new", "{}", "If-Match: *")
    put("/v1/favorites/new", "{}", 'If-Match: "x"')
    put("/v1/favorites/new", "{}", "If-None-Match: *")
    put("/v1/favorites/new", "{}", "If-None-Match: *")
    keyed(recorder, "PUT", "/v1/favorites/key", {"title": "1"}, {"title": "2"})
    keyed(recorder, "PATCH", "/v1/favorites/key", {"title": "3"}, {"title": "4"})
    keyed(recorder, "PUT", "/v1/favorites/key/position", {"index": 0}, {"index": 1})
    keyed(recorder, "PATCH", "/v1/favorites/key", '[{"op":"test","path":"/title","value":"no"}]', "[]", PATCH)
    keyed(recorder, "PUT", "/v1/favorites/faulty", {"title": 1}, {"title": 2})
    keyed(recorder, "PATCH", "/v1/favorites/missing", {"title": "x"}, {"title": "y"})
    put("/v1/favorites/key", {"title": "9"}, 'If-Match: "x"', "Idempotency-Key: refused")
    put("/v1/favorites/key", {"title": "changed"})
    put("/v1/favorites/key", {"title": "9"}, 'If-Match: "x"', "Idempotency-Key: refused")
    patches(recorder)
    for body in ({}, {"index": -1}, {"index": "0"}, {"index": None}, {"index": 1, "more": 2}, {"index": 10**30},
                 {"index": 0}, {"index": 0}, {"index": 2}, {"index": 9999}):
        put("/v1/favorites/b/position", body)
    put("/v1/favorites/missing/position", {"index": 0})
    keyed(recorder, "DELETE", "/v1/favorites/d", None, None)
    recorder.delete("/v1/favorites/d")
    recorder.delete("/v1/favorites/c", 'If-Match: "x"')
    recorder.delete("/v1/favorites/c", f"If-Match: {get('/v1/favorites/c').etag}")
    get("/v1/favorites/c")
    pages(recorder, empty)


def patches(recorder):
    path = "/v1/favorites/a"
    recorder.put(path, {"title": "start", "data": {"x": {"y": 1}, "list": [1, 2, 3]}})
    for body in ({"title": None}, {"title": "t", "data": {"x": {"y": None, "z": 2}}}, {"data": {"list": None}}, {"data": 5},
                 {"data": {"x": {"deep": {"er": 1}}}}, {"data": {"list": [1, 2, 3]}}, {"nonsense": None}, {"id": None}):
        recorder.patch(path, body)
        recorder.patch(path, body, MERGE)
    for operations in (
        [], [{"op": "add", "path": "/data/list/-", "value": 4}], [{"op": "add", "path": "/data/list/1", "value": 9}],
        [{"op": "remove", "path": "/data/list/0"}], [{"op": "replace", "path": "/title", "value": "patched"}],
        [{"op": "move", "from": "/data/list", "path": "/data/other"}], [{"op": "copy", "from": "/title", "path": "/data/title"}],
        [{"op": "test", "path": "/title", "value": "patched"}, {"op": "remove", "path": "/title"}],
        [{"op": "test", "path": "/title", "value": "no"}], [{"op": "remove", "path": "/nothing"}],
        [{"op": "add", "path": "/data/other/99", "value": 1}], [{"op": "add", "path": "nonsense", "value": 1}],
        [{"op": "add", "path": "/data/~2", "value": 1}], [{"op": "explode", "path": "/title"}], [{"path": "/title"}],
        [{"op": "add", "path": "/title"}], [{"op": "add", "path": "", "value": {"title": "whole"}}],
        [{"op": "add", "path": "", "value": 7}], [{"op": "add", "path": "/more", "value": 7}], [1, "x"], {"op": "add"},
        [{"op": "replace", "path": "/title", "value": 7}, {"op": "add", "path": "/x", "value": 1}],
        [{"op": "move", "from": "/data", "path": "/data/x"}],
    ):
        recorder.patch(path, operations, PATCH)
    recorder.patch("/v1/favorites/missing", [], PATCH)
    recorder.patch("/v1/favorites/missing", {"title": "x"})


def pages(recorder, empty):
    get = recorder.get
    before = get("/v1/favorites")
    for number in range(12):
        recorder.put(f"/v1/favorites/photo:{number}", {"title": f"Photo {number}", "data": {"text": "word " * 20}})
    for query in ("?limit=3", "?limit=3&prefix=photo:", "?prefix=photo:1", "?prefix=", "?prefix=%C3%A9", "?after=photo:3",
                  "?after=missing", "?limit=1000000", "?limit=1000001", "?limit=5&after=photo:11", "?after=", "?limit=3&limit=4",
                  "?prefix=photo:&after=a", "?limit=%2B3", "?limit=003"):
        get("/v1/favorites" + query)
    # Follow the links while the list changes.
    page = get("/v1/favorites?limit=7&prefix=photo:")
    recorder.put("/v1/favorites/photo:6/position", {"index": 0})
    for _ in range(3):
        link = page.field("Link")
        if not link.startswith("<"):
            break
        page = get(link[1 : link.index(">")])
    get("/v1/favorites", "Accept-Encoding: gzip")
    recorder.ask("HEAD", "/v1/favorites", None, "Accept-Encoding: gzip")
    whole = get("/v1/favorites?limit=2")
    get("/v1/favorites?limit=2", f"If-None-Match: {whole.etag}")
    recorder.put("/v1/favorites/zz", "{}")
    get("/v1/favorites?limit=2", f"If-None-Match: {whole.etag}")
    for cursor in (empty.cursor, before.cursor, before.etag.strip('"'), "now", "nonsense", "00000000.1.0", "00000000.1-5.0-7.x",
                   before.cursor.split(".")[0] + ".999.0", ""):
        get(f"/v1/favorites?at={cursor}")
        get(f"/v1/favorites/b?at={cursor}")
    get(f"/v1/favorites?at={before.cursor}&limit=2")
    get(f"/v1/favorites?at={before.cursor}", "Accept-Encoding: gzip")
    past = get(f"/v1/favorites?at={before.cursor}")
    get(f"/v1/favorites?at={before.cursor}", f"If-None-Match: {past.etag}")
    get(f"/v1/favorites?at={before.cursor}&wait=1", f"If-None-Match: {past.etag}")


VALUES = (
    "0", "-0", "1", "-1", "1.0", "1e5", "1E+5", "1e-7", "0.1", "123456789012345678901234567890", "9223372036854775807",
    "-9223372036854775808", "18446744073709551615", "18446744073709551616", "1.7976931348623157e308", "1e309", "5e-324",
    "3.14159265358979323846", "100000000000000000000.0", "true", "false", "null", '""', '"\\u0041\\n\\t\\"\\\\\\/\\b"',
    '"\\ud83d\\ude00"', '"\\ud83d"', '"\u2028\u007f"', '"\\u0000"', '"é€😀"', "[]", "{}", "[null]", '{"b":1,"a":2}',
    ' { "a" : [ 1 , 2 ] } ', '{"a":1,"a":2}', "[1,]", "{'a':1}", "01", "+1", ".5", "1.", "NaN", "tru", '"\t"', '"open',
    "\ufeff1", "1 2", "[" * 127 + "]" * 127, "[" * 128 + "]" * 128, "[" * 129 + "]" * 129, '{"":{"":""}}',
)


def defaults(recorder):
    sign_up(recorder, "defaults")
    get, put, patch = recorder.get, recorder.put, recorder.patch
    empty = get("/v1/defaults")
    get("/v1/defaults/standard")
    for value in VALUES:
        put("/v1/defaults/standard/value", value)
        get("/v1/defaults/standard/value")
    for suite in ("standard", "a.b_c-D", "x" * 128, "x" * 129, "sp%20ace", "%C3%A9", ".", "..", "a%2Fb"):
        put(f"/v1/defaults/{suite}/k", "1")
        get(f"/v1/defaults/{suite}")
        patch(f"/v1/defaults/{suite}", {"x": 1})
    for key in ("key%2Fwith", "%E2%82%AC", "%00", "%0A", "k" * 256, "k" * 257, "%zz", "%FF", "with%20space", "pl+us"):
        put(f"/v1/defaults/standard/{key}", '"x"')
        get(f"/v1/defaults/standard/{key}")
    put("/v1/defaults/standard/large", '"' + "x" * 262142 + '"')
    put("/v1/defaults/standard/large", '"' + "x" * 262143 + '"')
    recorder.delete("/v1/defaults/standard/large")
    get("/v1/defaults")
    for body in ({"theme": "dark", "old": None}, {"theme": "dark"}, {"theme": {"a": {"b": 1}}}, {"theme": {"a": {"c": 2}}},
                 {"": 1, "x" * 257: 2, "ok": 3}, {"line\n": 1, "huge": "x" * 262145}, {}):
        patch("/v1/defaults/patched", body)
        patch("/v1/defaults/patched", body, MERGE)
    for operations in (
        [{"op": "add", "path": "/new", "value": [1]}], [{"op": "add", "path": "/new/-", "value": 2}],
        [{"op": "test", "path": "/new", "value": [1]}], [{"op": "replace", "path": "/theme", "value": None}],
        [{"op": "remove", "path": "/missing"}], [{"op": "move", "from": "/new", "path": "/a~1b"}], [{"op": "no"}],
        [{"op": "add", "path": "", "value": []}], [{"op": "add", "path": "", "value": {"only": 1, "zwei": 2}}],
    ):
        patch("/v1/defaults/patched", operations, PATCH)
    conditions(recorder, "PUT", "/v1/defaults/standard/k", "2", "/v1/defaults/standard/k")
    conditions(recorder, "PATCH", "/v1/defaults/standard", {"c": 1}, "/v1/defaults/standard")
    put("/v1/defaults/standard/fresh", "1", "If-None-Match: *")
    put("/v1/defaults/standard/fresh", "2", "If-None-Match: *")
    keyed(recorder, "PUT", "/v1/defaults/standard/keyed", "1", "2")
    keyed(recorder, "PATCH", "/v1/defaults/standard", {"keyed": 3}, {"keyed": 4})
    keyed(recorder, "PATCH", "/v1/defaults/standard", {"keyed": 3}, {"keyed": 3}, MERGE)
    keyed(recorder, "DELETE", "/v1/defaults/standard/keyed", None, None)
    recorder.delete("/v1/defaults/standard/keyed")
    recorder.delete("/v1/defaults/standard/fresh", 'If-Match: "x"')
    recorder.delete("/v1/defaults/standard/fresh", "If-Match: *")
    get("/v1/defaults/nothing")
    get("/v1/defaults/nothing/there")
    for query in ("?prefix=k", "?prefix=", "?prefix=none", f"?at={empty.cursor}", f"?at={empty.cursor}&prefix=k"):
        get("/v1/defaults/standard" + query)
        get("/v1/defaults" + query)
        get("/v1/defaults/standard/k" + query)
    get("/v1/defaults/standard", "Accept-Encoding: gzip")


def profile(recorder):
    sign_up(recorder, "profile")
    recorder.get("/v1/profile")
    for body in ({}, {"companyName": "  Example Ltd \n"}, {"position": "Engineer", "companyName": "Example Ltd"},
                 {"companyName": "", "position": "   "}, {"companyName": None}, {"companyName": 1, "position": [], "more": {}},
                 {"companyName": "x" * 201}, {"companyName": "x" * 200}, {"position": "é" * 200}, {"position": "😀" * 201}):
        recorder.patch("/v1/profile", body)
        recorder.patch("/v1/profile", body, MERGE)
    conditions(recorder, "PATCH", "/v1/profile", {"position": "Lead"}, "/v1/profile")
    keyed(recorder, "PATCH", "/v1/profile", {"position": "1"}, {"position": "2"})
    recorder.get("/v1/profile")


def action(module, kind, **payload):
    return {"module": module, "type": kind, "payload": payload}


def actions(recorder):
    sign_up(recorder, "actions")
    post = lambda actions, *fields: recorder.post("/v1/actions", {"actions": actions}, *fields)
    of = lambda module: lambda kind, **payload: action(module, kind, **payload)
    favorite, default, profile = of("favorites"), of("defaults"), of("profile")
    good = [
        favorite("add", id="a"), favorite("add", id="b", title="B", data=[1], index=0), favorite("add", id="b", title="B2"),
        favorite("update", id="a", title="A"), favorite("update", id="a", data={"x": 1}), favorite("update", id="a", title=None),
        favorite("move", id="a", index=0), favorite("move", id="a", index=0), favorite("toggle", id="c", title="C"),
        favorite("toggle", id="c"), favorite("remove", id="b"), favorite("clear"), favorite("clear"),
        default("set", key="k", value=1), default("set", suite="other", key="k", value={"a": 1}),
        default("set", suite=None, key="k", value=1), default("remove", suite="other", key="k"),
        default("merge", values={"x": 1, "y": None, "k": 5}), default("merge", suite="other", values={"m": [1]}),
        default("increment", key="k", by=2), default("increment", key="k", by=-0.5), default("increment", key="fresh", by=1),
        default("increment", suite="other", key="big", by=9223372036854775807), default("clear", suite="other"),
        default("clear"), default("clear"), profile("save", companyName="Example"), profile("save", position=" P "),
        profile("save"),
    ]
    for one in good:
        post([one])
    post(good)
    recorder.get("/v1/changes")
    post([default("set", key="text", value="x"), default("set", key="max", value=9223372036854775807)])
    bad = [
        favorite("add"), favorite("add", id=""), favorite("add", id=1, title=2, index=-1, more=3), favorite("update", id="no"),
        favorite("update", id="no", nonsense=1), favorite("remove", id="no"), favorite("remove"), favorite("move", id="no", index=0),
        favorite("move", id="no"), favorite("toggle"), favorite("clear", id="x"), favorite("explode"),
        default("set", key="k"), default("set", key="k", value=None), default("set", key="", value=1),
        default("set", suite="sp ace", key="k", value=1), default("remove", key="no"), default("merge"),
        default("merge", values=[]), default("merge", values={"": 1, "x": "y"}), default("increment", key="text", by=1),
        default("increment", key="k", by="1"), default("increment", key="k"), default("increment", key="max", by=1),
        default("increment", key="k", by=1e308), default("clear", more=1), default("patch"), profile("save", companyName=""),
        profile("save", companyName=1, position=2, other=3), profile("load"), action("nothing", "add"), {"module": "favorites"},
        {"type": "add", "payload": {}}, {"module": "favorites", "type": "clear"}, {"module": "favorites", "type": "clear", "payload": None},
        {"module": "favorites", "type": "clear", "payload": []}, {"module": 1, "type": 2, "payload": 3, "more": 4}, 5, None, [],
        {"module": "favorites", "type": "clear", "payload": {}, "ifMatch": "x"},
    ]
    for one in bad:
        post([one])
    # An action that fails undoes the actions before it.
    for one in bad[3], bad[5], bad[20], bad[23], bad[0]:
        post([favorite("add", id="kept-not"), one, favorite("add", id="nor-this")])
    post([favorite("add"), good[0], default("set"), profile("save", companyName="")])
    recorder.get("/v1/favorites")
    for body in ({}, {"actions": {}}, {"actions": [], "more": 1}, {"actions": None}):
        recorder.post("/v1/actions", body)
    post([favorite("toggle", id="many")] * 500)
    post([favorite("toggle", id="many")] * 501)
    for query in ("?dryRun=true", "?dryRun=false", "?dryRun=1"):
        recorder.post("/v1/actions" + query, {"actions": [favorite("add", id="dry")]})
    cursor = recorder.get("/v1/favorites").cursor
    body = {"actions": [favorite("add", id="conditional")]}
    recorder.post("/v1/actions", body, 'If-Match: "other"')
    recorder.post("/v1/actions", body, "If-None-Match: *")
    recorder.post("/v1/actions", body, f'If-Match: "{cursor}"')
    recorder.post("/v1/actions", body, f'If-Match: "{cursor}"')
    recorder.post("/v1/actions", body, "If-Match: *")
    keyed(recorder, "POST", "/v1/actions", {"actions": good[:8]}, {"actions": good[:7]})
    keyed(recorder, "POST", "/v1/actions?n=2", {"actions": bad[3:4]}, {"actions": []})
    recorder.post("/v1/actions", body, 'If-Match: "other"', "Idempotency-Key: unmet")
    recorder.post("/v1/actions", body, 'If-Match: "other"', "Idempotency-Key: unmet")


def registered(recorder):
    path = "/v1/admin/registered/standard"
    administrator = dict(token=ADMINISTRATOR)
    sign_up(recorder, "registered")
    recorder.put("/v1/defaults/standard/own", '"mine"')
    empty = recorder.get("/v1/defaults/standard")
    waiting = recorder.start("GET", "/v1/defaults/standard?wait=30", None, f"If-None-Match: {empty.etag}")
    feed = recorder.start("GET", f"/v1/changes?since={empty.cursor}&wait=30")
    recorder.until_waiting(2)
    recorder.get(path, **administrator)
    first = recorder.put(path, {"theme": "light", "own": "theirs", "count": 5, "nested": {"a": 1}}, **administrator)
    waiting.response()
    feed.response()
    recorder.get("/v1/defaults")
    shown = recorder.get("/v1/defaults/standard")
    recorder.get("/v1/defaults/standard?prefix=t")
    recorder.get("/v1/defaults/standard/theme")
    recorder.get(f"/v1/defaults/standard?at={empty.cursor}")
    recorder.put("/v1/defaults/standard/theme", '"light"', "If-None-Match: *")
    recorder.delete("/v1/defaults/standard/theme")
    recorder.delete("/v1/defaults/standard/theme")
    recorder.post("/v1/actions", {"actions": [action("defaults", "increment", key="count", by=1)]})
    for body in ({"theme": None, "x": 1}, {"nested": {"b": 2}}, {"": 1}, {"huge": "x" * 262145}, {}):
        recorder.patch(path, body, **administrator)
        recorder.patch(path, body, MERGE, **administrator)
        recorder.put(path, body, **administrator)
    recorder.patch(path, [{"op": "add", "path": "/patched", "value": 1}], PATCH, **administrator)
    recorder.patch(path, [{"op": "test", "path": "/patched", "value": 2}], PATCH, **administrator)
    recorder.patch(path, {"x": 1}, f"If-Match: {first.etag}", **administrator)
    present = recorder.get(path, **administrator)
    recorder.patch(path, {"y": 1}, f"If-Match: {present.etag}", **administrator)
    recorder.put(path, {"z": 1}, "If-None-Match: *", **administrator)
    for number in "112":
        recorder.put(path, {"keyed": int(number)}, "Idempotency-Key: registered", **administrator)
    recorder.get("/v1/admin/registered/sp%20ace", **administrator)
    recorder.put("/v1/admin/registered/other", {"a": 1}, **administrator)
    recorder.get(f"/v1/changes?since={shown.cursor}")
    recorder.get("/v1/changes?collections=defaults/other")
    recorder.get("/v1/me/export")
    recorder.get("/v1/journal")
    recorder.put(path, {}, **administrator)
    recorder.put("/v1/admin/registered/other", {}, **administrator)
    recorder.put("/v1/admin/registered/sweep", {}, **administrator)

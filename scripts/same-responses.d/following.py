"""The feed, the journal, the export, and waiting for all of them."""

from states import action
from users import sign_up


def changes(recorder):
    sign_up(recorder, "changes")
    get = recorder.get
    begin = get("/v1/changes").json("cursor")
    post = lambda *actions: recorder.post("/v1/actions", {"actions": list(actions)}).cursor
    favorite = lambda kind, **payload: action("favorites", kind, **payload)
    cursors = [begin]
    cursors.append(post(*[favorite("add", id=f"p{n}", title=f"Photo {n}") for n in range(8)]))
    cursors.append(post(favorite("remove", id="p1"), favorite("move", id="p7", index=0), favorite("update", id="p3", title="!")))
    cursors.append(post(action("defaults", "merge", values={"a": 1, "b": 2}), action("profile", "save", companyName="Ltd")))
    cursors.append(post(favorite("add", id="come"), favorite("remove", id="come")))
    cursors.append(post(action("defaults", "merge", values={"a": None, "b": 3}), favorite("move", id="p3", index=5)))
    cursors.append(post(action("defaults", "set", suite="other", key="x", value=[1, {"y": 2}])))
    cursors.append(post(favorite("remove", id="p2"), favorite("add", id="p2", title="again", index=1)))
    for cursor in cursors:
        get(f"/v1/changes?since={cursor}")
        get(f"/v1/journal?since={cursor}&limit=2")
        get(f"/v1/favorites?at={cursor}")
        get(f"/v1/defaults?at={cursor}")
        get(f"/v1/profile?at={cursor}")
    last = cursors[-1]
    for query in ("since=now", "since=", "since=nonsense", "since=00000000.1.0", f"since={last}x", "since=a%20b", "collections=",
                  "collections=favorites", "collections=defaults", "collections=defaults/standard,profile", "collections=nothing",
                  "collections=favorites/x", "collections=defaults/", "collections=defaults/sp%20ace", "collections=favorites,,profile",
                  f"since={begin}&collections=profile", f"since={begin}&collections=defaults/none", f"since={last}&wait=0",
                  f"since={begin}&wait=5", f"since={last}&since={last}", f"since={last.split('.')[0]}.99.0&wait=1"):
        get("/v1/changes?" + query)
    get(f"/v1/changes?since={begin}", "Accept-Encoding: gzip")
    recorder.ask("HEAD", f"/v1/changes?since={begin}")
    get(f"/v1/changes?since={last}", "Prefer: wait=0")
    waits(recorder, last)
    events(recorder, begin)
    journal(recorder)
    get("/v1/me/export")
    get("/v1/me/export", "Accept-Encoding: gzip")
    export = recorder.ask("HEAD", "/v1/me/export")
    get("/v1/me/export", f"If-None-Match: {export.etag}")
    recorder.post("/v1/favorites", "{}")


def waits(recorder, last):
    # No change: each request takes a second, so all wait at the same time.
    paths = ("/v1/favorites", "/v1/favorites/p3", "/v1/favorites?prefix=p", "/v1/favorites?limit=2", "/v1/favorites/absent",
             "/v1/defaults", "/v1/defaults/standard", "/v1/defaults/standard/b", "/v1/profile")
    tags = {path: recorder.get(path).etag for path in paths}
    pending = [recorder.start("GET", path + ("&" if "?" in path else "?") + "wait=1", None, f"If-None-Match: {tag}")
               for path, tag in tags.items()]
    pending.append(recorder.start("GET", "/v1/profile", None, f"If-None-Match: {tags['/v1/profile']}", "Prefer: wait=1"))
    pending.append(recorder.start("GET", "/v1/profile?wait=1", None, "If-None-Match: *"))
    pending.append(recorder.start("GET", "/v1/profile?wait=1"))
    pending.append(recorder.start("HEAD", "/v1/profile?wait=1", None, f"If-None-Match: {tags['/v1/profile']}"))
    pending.append(recorder.start("GET", f"/v1/changes?since={last}&wait=1"))
    pending.append(recorder.start("GET", f"/v1/changes?since={last}&wait=1&collections=profile"))
    pending.append(recorder.start("GET", f"/v1/changes?since={last}", None, 'Prefer: respond-async, wait="1"; x=y'))
    pending.append(recorder.start("GET", f"/v1/journal?since={last}&wait=1"))
    pending.append(recorder.start("GET", "/v1/profile", None, f"If-None-Match: {tags['/v1/profile']}", "Prefer: wait=soon"))
    for one in pending:
        one.response()
    # A change on another connection.
    for path, method, target, body in (
        ("/v1/favorites", "PUT", "/v1/favorites/waited", {"title": "1"}),
        ("/v1/favorites/waited", "PATCH", "/v1/favorites/waited", {"title": "2"}),
        ("/v1/favorites/waited", "DELETE", "/v1/favorites/waited", None),
        ("/v1/favorites?prefix=wa", "PUT", "/v1/favorites/waited", {"title": "3"}),
        ("/v1/favorites?limit=1", "PUT", "/v1/favorites/waited/position", {"index": 0}),
        ("/v1/defaults", "PUT", "/v1/defaults/fresh/x", "1"),
        ("/v1/defaults/standard", "PATCH", "/v1/defaults/standard", {"w": 1}),
        ("/v1/defaults/standard/w", "PUT", "/v1/defaults/standard/w", "2"),
        ("/v1/defaults/standard/w", "DELETE", "/v1/defaults/standard/w", None),
        ("/v1/profile", "PATCH", "/v1/profile", {"position": "Waiting"}),
        ("/v1/changes", "PUT", "/v1/favorites/fed", "{}"),
        ("/v1/changes?collections=profile", "PATCH", "/v1/profile", {"position": "Fed"}),
        ("/v1/journal", "PUT", "/v1/favorites/logged", "{}"),
    ):
        present = recorder.get(path)
        mark = "&" if "?" in path else "?"
        if path.startswith(("/v1/changes", "/v1/journal")):
            now = recorder.get("/v1/changes?since=now").json("cursor")
            waiting = recorder.start("GET", f"{path}{mark}since={now}&wait=100")
        else:
            waiting = recorder.start("GET", f"{path}{mark}wait=30", None, f"If-None-Match: {present.etag}", "Prefer: wait=1")
        recorder.until_waiting(1)
        recorder.ask(method, target, body)
        waiting.response()
    # A change of another resource leaves it waiting.
    present = recorder.get("/v1/profile")
    waiting = recorder.start("GET", "/v1/profile?wait=1", None, f"If-None-Match: {present.etag}", "Accept-Encoding: gzip")
    recorder.until_waiting(1)
    recorder.put("/v1/favorites/unconcerned", "{}")
    waiting.response()


def events(recorder, begin):
    put = lambda name, body="{}": recorder.put(f"/v1/favorites/{name}", body)
    stream = recorder.stream("/v1/changes")
    stream.events(1)
    put("e1", {"title": "line\nbreak é"})
    event = stream.events(1)
    put("e2")
    recorder.patch("/v1/profile", {"position": "Streaming"})
    stream.events(2)
    stream.close()
    last = event[0].split("id: ")[1].split("\n")[0] if event and "id: " in event[0] else "absent"
    stream = recorder.stream("/v1/changes", f"Last-Event-ID: {last}")
    stream.events(1)
    stream.close()
    for query in (f"?since={begin}", f"?since={begin}&collections=profile", "?since=now", "?since=nonsense", "?since=now&wait=1",
                  "?collections=nothing", "?since=%20"):
        stream = recorder.stream("/v1/changes" + query)
        if "nothing" not in query and "%20" not in query:
            stream.events(1)
        stream.close()
    stream = recorder.stream("/v1/changes?since=now&collections=profile", "Last-Event-ID: ", "Accept-Encoding: gzip")
    stream.events(1)
    put("e3")
    recorder.patch("/v1/profile", {"position": "Filtered"})
    stream.events(1)
    stream.close()
    recorder.stream("/v1/changes", token=None).close()
    recorder.ask("HEAD", "/v1/changes", None, "Accept: text/event-stream")
    recorder.get("/v1/changes?since=now", "Accept: text/event-stream;q=0, application/json")
    recorder.get("/v1/journal", "Accept: text/event-stream")


def journal(recorder):
    page = recorder.get("/v1/journal?limit=1")
    for _ in range(6):
        cursor = page.json("cursor")
        page = recorder.get(f"/v1/journal?since={cursor}&limit=3")
    for query in ("?limit=1000", "?limit=1001", "?limit=0", "?since=now", "?since=nonsense", "?since=*", "?since=00000000.1.0",
                  "?since=now&wait=1", "?limit=2&limit=3", "?wait=x", "?nonsense=1"):
        recorder.get("/v1/journal" + query)
    recorder.get("/v1/journal", "Accept-Encoding: gzip")


def past(recorder):
    """A long journal, and a state from long ago of which there are snapshots."""
    sign_up(recorder, "past")
    cursors = [recorder.put("/v1/defaults/standard/n", str(number)).cursor for number in range(40)]
    for number in (0, 1, 17, 38, 39):
        recorder.get(f"/v1/defaults/standard/n?at={cursors[number]}")
        recorder.get(f"/v1/changes?since={cursors[number]}")
    recorder.get(f"/v1/journal?since={cursors[20]}&limit=7")

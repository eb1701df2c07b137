import LockstepCollections
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Declared collections", .timeLimit(.minutes(10)))
struct DeclaredCollectionTests {
  // MARK: Declarations

  @Test("A declaration is shown with its defaults, and its tag guards its next change")
  func declaring() async throws {
    try await ServerFixture.administered { users in
      let created = try await users.admin.put("\(DeclaredExamples.path)/inbox", #"{"kind":"list"}"#)
      #expect(created.status == 201)
      #expect(created.field("Location") == "\(DeclaredExamples.path)/inbox")
      #expect(
        created.json == [
          "name": "inbox", "kind": "list", "schema": [:], "quota": ["elements": 10_000, "bytes": 16_777_216],
          "access": "readWrite",
        ]
      )
      let shown = try await users.admin.get("\(DeclaredExamples.path)/inbox")
      #expect(shown.json == created.json && shown.tag == created.tag)
      #expect(try await users.admin.get(DeclaredExamples.path).json["items"] == [created.json])
      let tag = "\"\(shown.tag ?? "")\""
      #expect(try await users.admin.get("\(DeclaredExamples.path)/inbox", ["If-None-Match: \(tag)"]).status == 304)
      let read = #"{"name":"inbox","kind":"list","access":"readOnly"}"#
      #expect(try await users.admin.put("\(DeclaredExamples.path)/inbox", read, ["If-Match: \(tag)"]).status == 200)
      let late = try await users.admin.put("\(DeclaredExamples.path)/inbox", read, ["If-Match: \(tag)"])
      #expect(late.problem == ProblemSummary("precondition-failed"))
      #expect(late.json["current"]?["access"] == "readOnly")
      #expect(
        try await users.admin.put("\(DeclaredExamples.path)/new", #"{"kind":"list"}"#, ["If-Match: \(tag)"]).status
          == 412
      )
      #expect(try await users.admin.put("\(DeclaredExamples.path)/inbox", read, ["If-None-Match: *"]).status == 412)
    }
  }

  @Test("A response names all faults of a declaration")
  func faults() async throws {
    try await ServerFixture.administered { users in
      let body = """
        {"name":"other","kind":"set","access":"none","quota":{"elements":0,"rows":1},"more":1,
         "schema":{"type":"text","properties":{"a":{"pattern":"x"}}}}
        """
      let response = try await users.admin.put("\(DeclaredExamples.path)/inbox", body)
      #expect(response.status == 422)
      let pointers = (response.json["errors"]?.arrayValue ?? []).compactMap { $0["pointer"]?.stringValue }.sorted()
      #expect(
        pointers == [
          "/access", "/kind", "/more", "/name", "/quota/elements", "/quota/rows", "/schema/properties/a/pattern",
          "/schema/type",
        ]
      )
      #expect(try await users.admin.put("\(DeclaredExamples.path)/In-box", #"{"kind":"list"}"#).status == 400)
      for name in ["me", "favorites", "actions", "admin", "export", "sessions", "user", "journal"] {
        let reserved = try await users.admin.put("\(DeclaredExamples.path)/\(name)", #"{"kind":"list"}"#)
        #expect(reserved.problem == ProblemSummary("conflict"), "\(name)")
      }
      #expect(try await users.admin.get("\(DeclaredExamples.path)/inbox").problem == ProblemSummary("not-found"))
    }
  }

  @Test("Only the scope admin may declare, and the scope read may look")
  func scopes() async throws {
    try await ServerFixture.administered { users in
      let (ada, reader) = (try await users.signUp(), try await users.service("reader", "read"))
      #expect(try await ada.put("\(DeclaredExamples.path)/inbox", #"{"kind":"list"}"#).status == 403)
      #expect(try await reader.put("\(DeclaredExamples.path)/inbox", #"{"kind":"list"}"#).status == 403)
      #expect(try await reader.delete("\(DeclaredExamples.path)/inbox").status == 403)
      #expect(try await reader.get(DeclaredExamples.path).json["items"] == [])
    }
  }

  // MARK: Lists

  @Test("A declared list has the routes and actions of favorites, and checks the data of its elements")
  func list() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.get("/v1/playlist").json["items"] == [])
      let added = try await ada.put("/v1/playlist/a", #"{"title":"A","data":{"song":"Aria"}}"#)
      #expect(added.status == 201)
      #expect(added.json["data"] == ["song": "Aria"] && added.json["index"] == 0)
      for (body, pointers) in [
        (#"{"data":{"sing":"Aria"}}"#, ["/data/sing", "/data/song"]),
        (#"{"data":{"song":7,"stars":6}}"#, ["/data/song", "/data/stars"]),
        (#"{"title":"no data"}"#, ["/data"]),
        (#"{"data":{"song":"\#(String(repeating: "é", count: 21))"}}"#, ["/data/song"]),
      ] {
        let refused = try await ada.put("/v1/playlist/b", body)
        #expect(refused.status == 422)
        let found = (refused.json["errors"]?.arrayValue ?? []).compactMap { $0["pointer"]?.stringValue }.sorted()
        #expect(found == pointers, "\(body)")
      }
      #expect(
        try await ada.patch("/v1/playlist/a", #"{"data":{"stars":5}}"#).json["data"] == ["song": "Aria", "stars": 5]
      )
      let patched = try await ada.patch("/v1/playlist/a", #"{"data":{"stars":9}}"#)
      #expect(patched.json["errors"]?[0]?["pointer"] == "/data/stars")
      let actions = #"""
        {"actions":[
          {"module":"playlist","type":"add","payload":{"id":"b","data":{"song":"B"},"index":0}},
          {"module":"playlist","type":"move","payload":{"id":"b","index":1}},
          {"module":"playlist","type":"toggle","payload":{"id":"b"}},
          {"module":"playlist","type":"toggle","payload":{"id":"c","data":{"song":"C"}}}
        ]}
        """#
      #expect(try await ada.post("/v1/actions", actions).status == 200)
      let wrong = #"{"actions":[{"module":"playlist","type":"toggle","payload":{"id":"d"}}]}"#
      #expect(
        try await ada.post("/v1/actions", wrong).json["errors"]?[0]?["pointer"] == "/actions/0/payload/data"
      )
      let ids = try await ada.get("/v1/playlist").json["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue }
      #expect(ids == ["a", "c"])
      #expect(try await ada.delete("/v1/playlist/a").status == 204)
      let missing = try await ada.patch("/v1/playlist/a", "{}")
      #expect(missing.json["detail"]?.stringValue == "There is no element of playlist with the id “a”.")
    }
  }

  @Test("A declared list keeps its quota")
  func quota() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      for id in ["a", "b", "c"] {
        #expect(try await ada.put("/v1/playlist/\(id)", #"{"data":{"song":"s"}}"#).status == 201)
      }
      #expect(
        try await ada.put("/v1/playlist/d", #"{"data":{"song":"s"}}"#).problem == ProblemSummary("quota-exceeded")
      )
    }
  }

  // MARK: Maps

  @Test("A declared map has the routes and actions of a suite, without registered defaults")
  func map() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/levels/volume", "7").status == 201)
      #expect(try await ada.put("/v1/levels/volume", "8").status == 200)
      #expect(try await ada.put("/v1/levels/volume", "11").json["errors"]?[0]?["pointer"] == "")
      #expect(try await ada.put("/v1/levels/volume", "null").status == 422)
      #expect(
        try await ada.patch("/v1/levels", #"{"bass":1,"treble":11,"high":-1}"#).json["errors"]?.arrayValue?.count == 2
      )
      let merged = try await ada.patch("/v1/levels", #"{"bass":1,"volume":null}"#)
      #expect(merged.json["values"] == ["bass": 1])
      #expect(merged.json["registered"] == nil)
      let patch = #"[{"op":"add","path":"/bass","value":12}]"#
      let refused = try await ada.patch("/v1/levels", patch, ["Content-Type: application/json-patch+json"])
      #expect(refused.json["errors"]?[0]?["pointer"] == "/bass")
      let increment = #"{"actions":[{"module":"levels","type":"increment","payload":{"key":"bass","by":9}}]}"#
      #expect(try await ada.post("/v1/actions", increment).status == 200)
      #expect(try await ada.post("/v1/actions", increment).json["errors"]?[0]?["pointer"] == "/actions/0/payload/by")
      #expect(try await ada.get("/v1/levels?prefix=b").json["values"] == ["bass": 10])
      #expect(try await ada.get("/v1/levels/bass").text == "10")
      #expect(try await ada.delete("/v1/levels/bass").status == 204)
      #expect(try await ada.get("/v1/levels/bass").status == 404)
      let suite = #"{"actions":[{"module":"levels","type":"clear","payload":{"suite":"standard"}}]}"#
      #expect(try await ada.post("/v1/actions", suite).status == 422)
    }
  }

  // MARK: Everything else that follows

  @Test("Declared collections are in the feed, the journal, past states, exports, the catalogue and OpenAPI")
  func following() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      let first = try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#)
      let cursor = first.field("Cursor") ?? ""
      let poll = try await ada.waiting("/v1/changes?since=\(cursor)&wait=50")
      let held = try await ada.waiting(
        "/v1/levels?wait=50",
        ["If-None-Match: \"\(try await ada.get("/v1/levels").tag ?? "")\""]
      )
      await eventually { users.waiting == 2 }
      #expect(try await ada.put("/v1/levels/bass", "3").status == 201)
      #expect(try await poll.response().json["changesets"]?[0]?["collection"] == "levels")
      #expect(try await held.response().json["values"] == ["bass": 3])
      let names = try await ada.get("/v1/changes").json["changesets"]?.arrayValue?.compactMap {
        $0["collection"]?.stringValue
      }
      #expect(names == ["favorites", "levels", "playlist", "profile"])
      #expect(try await ada.get("/v1/changes?collections=playlist").json["changesets"]?.arrayValue?.count == 1)
      #expect(try await ada.get("/v1/playlist?at=\(cursor)").json["count"] == 1)
      #expect(try await ada.get("/v1/levels?at=\(cursor)").json["values"] == [:])
      #expect(try await ada.get("/v1/journal").json["entries"]?[1]?["module"] == "levels")
      #expect(try await users.admin.get("/v1/admin/journal?collection=levels").json["entries"]?.arrayValue?.count == 1)
      let export = try await ada.get("/v1/me/export").json
      #expect(export["playlist"]?[0]?["data"] == ["song": "Aria"])
      #expect(export["levels"] == ["bass": 3])
      let catalogue = try await ada.get("/v1/reactors").json["items"]?.arrayValue ?? []
      let entry = catalogue.first { $0["name"] == "playlist" }
      #expect(entry?["description"] == "Songs in order.")
      let data = entry?["state"]?["properties"]?["items"]?["items"]?["properties"]?["data"]
      #expect(data?["properties"]?["song"] == ["type": "string", "maxLength": 20])
      let paths = try await ada.get("/openapi.json").json["paths"]
      #expect(paths?["/v1/playlist/{id}"]?["patch"] != nil && paths?["/v1/levels"]?["patch"] != nil)
      #expect(paths?["/v1/admin/users/{user}/levels/{key}"]?["put"] != nil)
      #expect(try await ada.get("/").json["links"]?["v1/playlist"] == "/v1/playlist")
      #expect(try await users.admin.get(ada.administered("/levels")).json["values"] == ["bass": 3])
      let robot = try await users.service("robot", "write", "read")
      #expect(try await robot.put(ada.administered("/levels/bass"), "4").status == 200)
      #expect(try await ada.get("/v1/journal").json["entries"]?[2]?["by"] == "robot")
      let metrics = try await ada.get("/metrics").text
      #expect(metrics.contains(#"route="/v1/{list}/{id}""#) && !metrics.contains("playlist"))
    }
  }

  @Test("1,000 declared collections that are in use do not make the metrics longer than two")
  func metrics() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      func routes() async throws -> Set<String> {
        let family = try PrometheusText(try await ada.get("/metrics").text).family("lockstep_http_requests_total")
        return Set(try #require(family).samples.compactMap { $0.label("route") })
      }
      func use(_ numbers: Range<Int>) async throws {
        let services = try #require(users.running.withLock { $0?.services.users })
        let all = numbers.map { DeclaredCollection(name: "c\($0)", kind: $0.isMultiple(of: 2) ? .list : .map) }
        _ = try await services.perform(.apply(all), key: nil)
        for number in numbers { #expect(try await ada.get("/v1/c\(number)").status == 200) }
      }
      try await use(0..<2)
      // The first request for metrics adds its own route.
      _ = try await routes()
      let before = try await routes()
      #expect(before.isSuperset(of: ["/v1/{list}", "/v1/{map}"]))
      try await use(2..<1000)
      #expect(try await routes().subtracting(before).isEmpty)
    }
  }

  @Test("The description of writes has the declared schema, and says whether data is required")
  func descriptions() async throws {
    try await DeclaredExamples.serve { users in
      #expect(try await users.admin.put("\(DeclaredExamples.path)/inbox", #"{"kind":"list"}"#).status == 201)
      let document = try await users.ask("GET", "/openapi.json").json
      func resolved(_ schema: JSON?) -> JSON? {
        guard let reference = schema?["$ref"]?.stringValue else { return schema }
        return document.referenced(by: reference)
      }
      func body(_ path: String) -> JSON? { document["paths"]?[path]?["put"]?["requestBody"] }
      func schema(_ path: String) -> JSON? { resolved(body(path)?["content"]?["application/json"]?["schema"]) }
      let level: JSON = ["type": "integer", "minimum": 0, "maximum": 10]
      for path in ["/v1/levels/{key}", "/v1/admin/users/{user}/levels/{key}"] {
        #expect(schema(path) == level, "\(path)")
      }
      let patch = document["paths"]?["/v1/levels"]?["patch"]?["requestBody"]?["content"]?["application/json"]?["schema"]
      #expect(resolved(patch)?["additionalProperties"] == ["anyOf": [level, ["type": "null"]]])
      #expect(schema("/v1/playlist/{id}")?["required"] == ["data"])
      #expect(body("/v1/playlist/{id}")?["required"] == true)
      #expect(schema("/v1/inbox/{id}")?["required"]?.arrayValue?.isEmpty != false)
      #expect(body("/v1/inbox/{id}")?["required"] == false)
      let schemas = try #require(document["components"]?["schemas"])
      func required(_ name: String) -> JSON? { resolved(schemas[name]?["properties"]?["payload"])?["required"] }
      #expect(required("PlaylistActionAdd") == ["id", "data"] && required("InboxActionAdd") == ["id"])
      // A toggle without data can remove an element.
      #expect(required("PlaylistActionToggle") == ["id"] && required("PlaylistActionUpdate") == ["id"])
      let items = try await users.ask("GET", "/v1/reactors").json["items"]?.arrayValue ?? []
      let state = items.first { $0["name"] == "playlist" }?["state"]?["properties"]?["items"]?["items"]
      #expect(state?["required"]?.arrayValue?.contains("data") == true)
    }
  }

  @Test("Declarations and their data survive a restart")
  func restart() async throws {
    try await DeclaredExamples.serve { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playlist/a", #"{"data":{"song":"Aria"}}"#).status == 201)
      #expect(try await ada.put("/v1/levels/bass", "3").status == 201)
      let before = try await ada.get("/v1/playlist").json
      try await users.restart()
      #expect(try await ada.get("/v1/playlist").json == before)
      #expect(try await ada.get("/v1/levels").json["values"] == ["bass": 3])
      #expect(try await ada.put("/v1/levels/bass", "33").status == 422)
    }
  }

  // MARK: Access

  @Test("In a collection that is read only, administrators and service tokens write, and users read")
  func readOnly() async throws {
    try await ServerFixture.administered { users in
      #expect(
        try await users.admin.put("\(DeclaredExamples.path)/rights", #"{"kind":"map","access":"readOnly"}"#).status
          == 201
      )
      let (ada, robot) = (try await users.signUp(), try await users.service("shop", "write"))
      for refused in [
        try await ada.put("/v1/rights/pro", "true"), try await ada.patch("/v1/rights", #"{"pro":true}"#),
        try await ada.post(
          "/v1/actions",
          #"{"actions":[{"module":"rights","type":"set","payload":{"key":"pro","value":true}}]}"#
        ),
        try await ada.post("/v1/actions?dryRun=true", #"{"actions":[{"module":"rights","type":"clear"}]}"#),
      ] {
        #expect(refused.problem == ProblemSummary("forbidden"))
        #expect(refused.json["detail"] == "Only the administrator and service tokens can change rights.")
      }
      #expect(try await robot.put(ada.administered("/rights/pro"), "true").status == 201)
      #expect(try await ada.get("/v1/rights").json["values"] == ["pro": true])
      #expect(try await ada.delete("/v1/rights/pro").status == 403)
    }
  }
}

import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Registered defaults over HTTP", .timeLimit(.minutes(10)))
struct RegisteredDefaultsTests {
  private func run(_ body: (ServerFixture) async throws -> Void) async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }, body)
  }

  @Test("A registered default is visible where the user has no value, and the response marks it")
  func showsThrough() async throws {
    try await run { users in
      try await users.register("standard", #"{"theme":"light","size":12}"#)
      let ada = try await users.signUp()
      let before = try await ada.get("/v1/defaults/standard")
      #expect(before.json["values"] == ["size": 12, "theme": "light"])
      #expect(before.json["registered"] == ["size", "theme"])
      #expect(try await ada.get("/v1/defaults/standard/theme").text == #""light""#)
      #expect(try await ada.put("/v1/defaults/standard/theme", #""dark""#).status == 201)
      let after = try await ada.get("/v1/defaults/standard")
      #expect(after.json["values"] == ["size": 12, "theme": "dark"])
      #expect(after.json["registered"] == ["size"])
      // Registered defaults do not count as the user's values.
      #expect(try await ada.get("/v1/defaults").json["suites"]?[0]?["count"] == 1)
      #expect(try await ada.delete("/v1/defaults/standard/size").problem == ProblemSummary("not-found"))
      #expect(try await ada.delete("/v1/defaults/standard/theme").status == 204)
      #expect(try await ada.get("/v1/defaults/standard/theme").text == #""light""#)
    }
  }

  @Test("A change of registered defaults changes the ETags of the resources that show them, and no others")
  func tags() async throws {
    try await run { users in
      try await users.register("standard", #"{"theme":"light","size":12}"#)
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/theme", #""dark""#)
      _ = try await ada.put("/v1/favorites/a", "{}")
      let paths = [
        "/v1/defaults/standard", "/v1/defaults/standard/size", "/v1/defaults/standard?prefix=s",
        "/v1/defaults/standard/theme", "/v1/defaults/other", "/v1/favorites", "/v1/favorites/a", "/v1/profile",
        "/v1/defaults", "/v1/defaults/standard?prefix=t",
      ]
      var before: [String: RawResponse] = [:]
      for path in paths { before[path] = try await ada.get(path) }

      // The user's own value hides the registered one.
      _ = try await users.administer("PATCH", "/v1/admin/registered/standard", #"{"theme":"blue"}"#)
      for path in paths {
        let response = try await ada.get(path)
        #expect(response.tag == before[path]?.tag, "\(path)")
        #expect(response.body == before[path]?.body, "\(path)")
      }
      _ = try await users.administer("PATCH", "/v1/admin/registered/standard", #"{"size":13}"#)
      for (index, path) in paths.enumerated() {
        let response = try await ada.get(path)
        if index < 3 {
          #expect(response.tag != before[path]?.tag, "\(path)")
          #expect(response.body != before[path]?.body, "\(path)")
        } else {
          let known = try #require(before[path]?.field("ETag"))
          #expect(try await ada.get(path, ["If-None-Match: \(known)"]).status == 304, "\(path)")
        }
      }
    }
  }

  @Test("The administrator can replace, change and read registered defaults")
  func administration() async throws {
    try await run { users in
      let path = "/v1/admin/registered/standard"
      let empty = try await users.administer("GET", path)
      #expect(empty.status == 200)
      #expect(empty.json["values"] == [:])
      let put = try await users.administer("PUT", path, #"{"b":1,"a":{"x":1}}"#)
      #expect(put.status == 200)
      let cursor = try #require(put.tag)
      #expect(put.text == #"{"cursor":"\#(cursor)","values":{"a":{"x":1},"b":1}}"#)
      #expect(try await users.administer("GET", path).body == put.body)
      #expect(
        try await users.administer("PATCH", path, #"{"b":null,"c":3}"#).json["values"] == ["a": ["x": 1], "c": 3]
      )
      let merged = try await users.administer(
        "PATCH",
        path,
        #"{"a":{"y":2}}"#,
        ["Content-Type: application/merge-patch+json"]
      )
      #expect(merged.json["values"] == ["a": ["x": 1, "y": 2], "c": 3])
      let patched = try await users.administer(
        "PATCH",
        path,
        #"[{"op":"remove","path":"/a/x"}]"#,
        ["Content-Type: application/json-patch+json"]
      )
      #expect(patched.json["values"] == ["a": ["y": 2], "c": 3])
      #expect(try await users.administer("PUT", path, "{}").json["values"] == [:])
      #expect(try await users.signUp().get("/v1/defaults/standard").json["values"] == [:])
    }
  }

  @Test(
    "At startup, the server warns of an administrator token that could be guessed",
    arguments: ["short", "0123456789abcdef"]
  )
  func shortToken(_ token: String) async throws {
    try await ServerFixture.run({ $0.administratorToken = token }) { users in
      #expect(users.log.text.contains("the administrator token is short") == (token == "short"))
      #expect(!users.log.text.contains("\(token) "))
    }
  }

  @Test("The administrator's writes are conditional too")
  func conditional() async throws {
    try await run { users in
      let path = "/v1/admin/registered/standard"
      try await users.register("standard", #"{"a":1}"#)
      let tag = try #require(try await users.administer("GET", path).field("ETag"))
      #expect(try await users.administer("GET", path, nil, ["If-None-Match: \(tag)"]).status == 304)
      #expect(try await users.administer("PATCH", path, #"{"a":2}"#, ["If-Match: \(tag)"]).status == 200)
      let refused = try await users.administer("PATCH", path, #"{"a":3}"#, ["If-Match: \(tag)"])
      #expect(refused.problem == ProblemSummary("precondition-failed"))
      #expect(refused.json["current"]?["values"] == ["a": 2])
      #expect(refused.json["cursor"]?.stringValue == refused.tag)
      #expect(try await users.administer("GET", path, nil, ["If-None-Match: \(tag)"]).json["values"] == ["a": 2])
    }
  }

  @Test("Invalid values are named, and quotas apply to registered defaults too")
  func faults() async throws {
    try await ServerFixture.run {
      $0.administratorToken = ServerFixture.administrator
      $0.defaultsQuota.keys = 2
    } _: { users in
      let path = "/v1/admin/registered/standard"
      for (method, body, expected) in [
        ("PUT", "[]", ProblemSummary("validation-failed", "")),
        ("PUT", #"{"a":null,"b":1}"#, ProblemSummary("validation-failed", "/a")),
        ("PATCH", "7", ProblemSummary("validation-failed", "")), ("PUT", "{", ProblemSummary("malformed-json")),
        ("PATCH", #"{"":1,"\u0001":2}"#, ProblemSummary("validation-failed", "/", "/\u{1}")),
        ("PUT", #"{"a":1,"b":2,"c":3}"#, ProblemSummary("quota-exceeded")),
      ] {
        #expect(try await users.administer(method, path, body).problem == expected, "\(method) \(body)")
      }
      let type = try await users.administer("PUT", path, "{}", ["Content-Type: text/plain"])
      #expect(type.problem == ProblemSummary("unsupported-media-type"))
      #expect(
        try await users.administer("GET", "/v1/admin/registered/a%20b").problem == ProblemSummary("invalid-parameter")
      )
      #expect(try await users.administer("GET", path).json["values"] == [:])
    }
  }

  @Test("Only the administrator's token opens the routes, and a server without one does not have them")
  func token() async throws {
    try await run { users in
      let ada = try await users.signUp()
      for token in [ada.token, "bosS", "bos", "bosss", nil] {
        let response = try await users.ask("PUT", "/v1/admin/registered/standard", body: Array("{}".utf8), token: token)
        let expected = token == ada.token ? "forbidden" : "unauthorized"
        #expect(response.problem == ProblemSummary(expected), "\(token ?? "none")")
      }
      #expect(try await users.administer("GET", "/v1/favorites").status == 401)
      try await users.restart { $0.administratorToken = nil }
      for method in ["GET", "PUT", "PATCH"] {
        let response = try await users.administer(method, "/v1/admin/registered/standard", "{}")
        #expect(response.problem == ProblemSummary("not-found"), "\(method)")
      }
    }
  }

  @Test("Registered defaults and their ETags survive a restart")
  func restart() async throws {
    try await run { users in
      try await users.register("standard", #"{"theme":"light"}"#)
      try await users.register("other", #"{"x":[1]}"#)
      let ada = try await users.signUp()
      let before = try await ada.get("/v1/defaults/standard")
      try await users.restart()
      let after = try await ada.get("/v1/defaults/standard")
      #expect(after.body == before.body)
      #expect(after.tag == before.tag)
      #expect(after.cursor == before.cursor)
    }
  }

  @Test("A past state has the registered defaults of that time")
  func past() async throws {
    try await run { users in
      try await users.register("standard", #"{"theme":"light"}"#)
      let ada = try await users.signUp()
      let then = try await ada.get("/v1/defaults/standard")
      let cursor = try #require(then.cursor)
      try await users.register("standard", #"{"theme":"dark","new":1}"#)
      let past = try await ada.get("/v1/defaults/standard?at=\(cursor)")
      #expect(past.body == then.body)
      #expect(past.tag == then.tag)
      #expect(try await ada.get("/v1/defaults/standard/theme?at=\(cursor)").text == #""light""#)
    }
  }

  @Test("A user's increment starts from the registered default")
  func increment() async throws {
    try await run { users in
      try await users.register("standard", #"{"count":40}"#)
      let ada = try await users.signUp()
      let actions = #"{"actions":[{"module":"defaults","type":"increment","payload":{"key":"count","by":2}}]}"#
      #expect(try await ada.post("/v1/actions", actions).status == 200)
      #expect(try await ada.get("/v1/defaults/standard/count").text == "42")
    }
  }
}

import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("User defaults over HTTP", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct DefaultsRouteTests {
  @Test("A value is set by its body, replaces any other value, and is read back unchanged")
  func put() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (value, status) in [
        ("true", 201), ("7", 200), (#""dark""#, 200), (#"{"a":[1,2,{"b":null}]}"#, 200), ("[]", 200), (#""""#, 200),
      ] {
        let response = try await ada.put("/v1/defaults/standard/theme", value)
        #expect(response.status == status, "\(value)")
        #expect(response.text == value)
        #expect(response.field("Content-Type") == "application/json")
        let read = try await ada.get("/v1/defaults/standard/theme")
        #expect(read.status == 200)
        #expect(read.body == response.body)
        #expect(read.tag == response.tag)
      }
    }
  }

  @Test("A suite has its values by key, and an unknown suite is empty", .withoutDeclaredMap)
  func suite() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let empty = try await ada.get("/v1/defaults/unknown")
      #expect(empty.status == 200)
      #expect(empty.json["values"] == [:])
      #expect(empty.json["registered"] == [])
      for (key, value) in [("b", "2"), ("a", "1"), ("c", "[3]")] {
        _ = try await ada.put("/v1/defaults/standard/\(key)", value)
      }
      let response = try await ada.get("/v1/defaults/standard")
      let cursor = try #require(response.tag)
      #expect(response.text == #"{"cursor":"\#(cursor)","values":{"a":1,"b":2,"c":[3]},"registered":[]}"#)
    }
  }

  @Test("A prefix filters the values of a suite")
  func prefix() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.patch("/v1/defaults/standard", #"{"ui.a":1,"ui.b":2,"net.a":3}"#)
      #expect(try await ada.get("/v1/defaults/standard?prefix=ui.").json["values"] == ["ui.a": 1, "ui.b": 2])
      #expect(try await ada.get("/v1/defaults/standard?prefix=x").json["values"] == [:])
      #expect(try await ada.get("/v1/defaults/standard?prefix=").json["values"]?.objectValue?.count == 3)
    }
  }

  @Test("The list of suites has the number of values and bytes of each", .withoutDeclaredMap)
  func suites() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.get("/v1/defaults").json["suites"] == [])
      _ = try await ada.put("/v1/defaults/standard/theme", #""dark""#)
      _ = try await ada.patch("/v1/defaults/com.example.App-1_x", #"{"a":1,"bc":22}"#)
      _ = try await ada.put("/v1/defaults/gone/a", "1")
      _ = try await ada.delete("/v1/defaults/gone/a")
      let response = try await ada.get("/v1/defaults")
      #expect(response.json["cursor"]?.stringValue == response.tag)
      #expect(
        response.json["suites"] == [
          ["name": "com.example.App-1_x", "count": 2, "bytes": 6], ["name": "standard", "count": 1, "bytes": 11],
        ]
      )
    }
  }

  @Test("A patch of type JSON replaces whole values, and null removes them")
  func patch() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.patch("/v1/defaults/standard", #"{"keep":1,"theme":{"a":1},"old":2}"#)
      let response = try await ada.patch("/v1/defaults/standard", #"{"theme":{"b":2},"old":null,"never":null}"#)
      #expect(response.status == 200)
      #expect(response.json["cursor"]?.stringValue == response.tag)
      #expect(response.json["values"] == ["keep": 1, "theme": ["b": 2]])
    }
  }

  @Test("A merge patch applies at every depth")
  func mergePatch() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/theme", #"{"a":1,"b":{"c":2,"d":3}}"#)
      let response = try await ada.patch(
        "/v1/defaults/standard",
        #"{"theme":{"b":{"c":null,"e":4}},"new":{"x":{"y":null}}}"#,
        ["Content-Type: application/merge-patch+json"]
      )
      #expect(response.json["values"] == ["theme": ["a": 1, "b": ["d": 3, "e": 4]], "new": ["x": [:]]])
    }
  }

  @Test("A JSON patch applies to the user's own values, as a whole or not at all", .withoutDeclaredMap)
  func jsonPatch() async throws {
    try await ServerFixture.run {
      $0.administratorToken = "boss"
    } _: { users in
      let ada = try await users.signUp()
      try await users.register("standard", #"{"app":"x"}"#)
      _ = try await ada.patch("/v1/defaults/standard", #"{"list":[1],"a":1}"#)
      let type = ["Content-Type: application/json-patch+json"]
      let patch = #"[{"op":"add","path":"/list/-","value":2},{"op":"move","from":"/a","path":"/b"}]"#
      let response = try await ada.patch("/v1/defaults/standard", patch, type)
      #expect(response.status == 200)
      #expect(response.json["values"] == ["app": "x", "b": 1, "list": [1, 2]])
      for (patch, expected) in [
        (#"[{"op":"add","path":"/c","value":1},{"op":"test","path":"/b","value":9}]"#, ProblemSummary("conflict")),
        (#"[{"op":"remove","path":"/app"}]"#, ProblemSummary("validation-failed", "/0")),
        (#"[{"op":"add","path":"/c","value":null}]"#, ProblemSummary("validation-failed", "/c")),
        (#"[{"op":"replace","path":"","value":[]}]"#, ProblemSummary("validation-failed", "")),
        (#"[{"op":"add","path":"/","value":1}]"#, ProblemSummary("validation-failed", "/")),
      ] {
        #expect(try await ada.patch("/v1/defaults/standard", patch, type).problem == expected, "\(patch)")
      }
      #expect(try await ada.get("/v1/defaults/standard").body == response.body)
    }
  }

  @Test("A value can be removed once, and a missing value gets 404")
  func delete() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.delete("/v1/defaults/standard/a").problem == ProblemSummary("not-found"))
      _ = try await ada.put("/v1/defaults/standard/a", "1")
      let response = try await ada.delete("/v1/defaults/standard/a")
      #expect(response.status == 204)
      #expect(response.cursor != nil)
      let gone = try await ada.get("/v1/defaults/standard/a")
      #expect(gone.problem == ProblemSummary("not-found"))
      #expect(gone.cursor == response.cursor)
    }
  }

  @Test("Invalid names are refused, wherever they are")
  func names() async throws {
    let long = String(repeating: "k", count: 257)
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for path in [
        "a%20b/k", "a%2Fb/k", String(repeating: "s", count: 129) + "/k", "%C3%A9/k", "standard/\(long)",
        "standard/a%00b", "standard/%1F", "standard/%C2%85", "standard/%7F",
      ] {
        for method in ["GET", "PUT", "DELETE"] {
          let response = try await ada.ask(method, "/v1/defaults/\(path)", method == "PUT" ? "1" : nil)
          #expect(response.problem == ProblemSummary("invalid-parameter"), "\(method) \(path)")
        }
      }
      for (body, pointers) in [
        (#"{"a\u0000":1,"":2,"ok":3,"\#(long)":4}"#, ["/a\u{0}", "/", "/\(long)"]),
        (#"{"a/b~\u0007":1}"#, ["/a~1b~0\u{7}"]),
        ("7", [""]), ("[]", [""]), ("null", [""]),
      ] {
        let response = try await ada.patch("/v1/defaults/standard", body)
        #expect(response.problem == ProblemSummary(slug: "validation-failed", pointers: pointers), "\(body.prefix(40))")
      }
      let many = String(repeating: "s", count: 128)
      #expect(try await ada.put("/v1/defaults/\(many)/\(long.dropLast())", "1").status == 201)
    }
  }

  @Test("A value may be any JSON except null, up to 256 KiB")
  func values() async throws {
    let largest = #"""# + String(repeating: "v", count: 256 * 1024 - 2) + #"""#
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/defaults/standard/a", "null").problem == ProblemSummary("validation-failed", ""))
      #expect(try await ada.put("/v1/defaults/standard/a", largest).status == 201)
      #expect(try await ada.get("/v1/defaults/standard/a").text == largest)
      let tooLarge = #"""# + largest.dropFirst().dropLast() + #"v""#
      #expect(try await ada.put("/v1/defaults/standard/a", tooLarge).problem == ProblemSummary("validation-failed", ""))
      let patch = #"{"a":\#(tooLarge),"b":\#(tooLarge),"c":1}"#
      #expect(
        try await ada.patch("/v1/defaults/standard", patch).problem == ProblemSummary("validation-failed", "/a", "/b")
      )
      #expect(try await ada.get("/v1/defaults/standard/a").text == largest)
    }
  }
}

import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Unusual ids, keys and bodies", .timeLimit(.minutes(10)))
struct HostileInputTests {
  /// Different names, and how they are written in a path.
  private static let names: [(text: String, path: String)] = [
    ("a/b", "a%2Fb"), ("a%2Fb", "a%252Fb"), ("a b", "a%20b"), ("a+b", "a+b"), ("é", "%C3%A9"), ("e\u{301}", "e%CC%81"),
    ("\u{1F9D1}\u{200D}\u{1F680}", "%F0%9F%A7%91%E2%80%8D%F0%9F%9A%80"), ("..", ".."), (".", "."), ("null", "null"),
    ("\u{212B}", "%E2%84%AB"), ("\u{C5}", "%C3%85"), ("A\u{30A}", "A%CC%8A"),
    ("'; DROP TABLE users; --", "';%20DROP%20TABLE%20users;%20--"),
    ("\" OR 1=1", "%22%20OR%201=1"), ("%", "%25"), ("_", "_"), ("?#&", "%3F%23%26"), ("A", "A"), ("a", "a"),
    ("\u{FFFD}", "%EF%BF%BD"), ("\u{FEFF}x", "%EF%BB%BFx"), ("\u{10FFFF}", "%F4%8F%BF%BF"), ("position", "position"),
    (String(repeating: "é", count: 128), String(repeating: "%C3%A9", count: 128)),
  ]

  @Test("Favorites may have any id, and ids that Unicode considers equal are different")
  func favorites() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (index, (text, path)) in Self.names.enumerated() {
        let response = try await ada.put("/v1/favorites/\(path)", #"{"data":\#(index)}"#)
        #expect(response.status == 201, "\(text)")
        #expect(response.json["id"] == .string(text))
      }
      for _ in 0..<2 {
        let items = try await ada.get("/v1/favorites").json["items"]?.arrayValue ?? []
        #expect(items.map { $0["id"] } == Self.names.map { .string($0.text) })
        for (index, (text, path)) in Self.names.enumerated() {
          let response = try await ada.get("/v1/favorites/\(path)")
          #expect(response.json["data"]?.intValue == index, "\(text)")
          #expect(response.json["index"]?.intValue == index, "\(text)")
        }
        try await users.restart()
      }
      var left = Self.names.count
      for (text, path) in Self.names {
        #expect(try await ada.delete("/v1/favorites/\(path)").status == 204, "\(text)")
        left -= 1
        #expect(try await ada.get("/v1/favorites").json["count"]?.intValue == left, "\(text)")
      }
    }
  }

  @Test("Keys of defaults may be any text, and those that Unicode considers equal are different")
  func defaults() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (index, (text, path)) in Self.names.enumerated() {
        #expect(try await ada.put("/v1/defaults/standard/\(path)", "\(index)").status == 201, "\(text)")
      }
      let expected = JSONObject(Self.names.enumerated().map { ($1.text, .integer(Int64($0))) })
      for _ in 0..<2 {
        let response = try await ada.get("/v1/defaults/standard")
        #expect(response.json["values"] == .object(expected))
        // Keys are always in the order of their bytes.
        let keys = response.json["values"]?.objectValue?.names ?? []
        #expect(
          keys.map { Array($0.utf8) }
            == Self.names.map { Array($0.text.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        )
        for (index, (text, path)) in Self.names.enumerated() {
          #expect(try await ada.get("/v1/defaults/standard/\(path)").text == "\(index)", "\(text)")
        }
        try await users.restart()
      }
      for (text, path) in Self.names {
        #expect(try await ada.delete("/v1/defaults/standard/\(path)").status == 204, "\(text)")
      }
      #expect(try await ada.get("/v1/defaults/standard").json["values"] == [:])
    }
  }

  @Test("A value that differs from the present one only in its Unicode normalization is another value")
  func canonicalEquivalence() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for title in ["\u{C5}", "A\u{30A}", "\u{212B}"] {
        let response = try await ada.put("/v1/favorites/a", #"{"title":"\#(title)"}"#)
        #expect(response.json["title"] == .string(title))
        let value = try await ada.patch("/v1/profile", #"{"position":"\#(title)"}"#)
        #expect(value.json["position"] == .string(title))
      }
    }
  }

  @Test("Invalid ids are refused, wherever they are")
  func badIDs() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for path in [
        "%00", "a%0Ab", "%7F", "%C2%80", "%1B", String(repeating: "a", count: 257),
        String(repeating: "%C3%A9", count: 129),
        "%FF", "%C3", "%ED%A0%80", "%zz", "%",
      ] {
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
          let response = try await ada.ask(method, "/v1/favorites/\(path)", "{}")
          #expect(response.problem == ProblemSummary("invalid-parameter"), "\(method) \(path)")
        }
      }
      #expect(try await ada.put("/v1/favorites/", "{}").status == 404)
      #expect(try await ada.get("/v1/favorites").json["count"] == 0)
    }
  }

  @Test("Numbers keep their value, also at the limits")
  func numbers() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (sent, kept) in [
        ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"), ("9007199254740993", "9007199254740993"), ("0.1", "0.1"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"), ("5e-324", "5e-324"),
        ("123456789.123456789", "123456789.12345679"),
      ] {
        let nested = #"{"a":[\#(sent)]}"#
        let response = try await ada.put("/v1/defaults/standard/n", nested)
        #expect(response.text == #"{"a":[\#(kept)]}"#)
        try await users.restart()
        #expect(try await ada.get("/v1/defaults/standard/n").body == response.body)
      }
      for sent in [
        "18446744073709551616", "-9223372036854775809", "1e309", "-1e400", "[1e999]", #"{"a":99999999999999999999999}"#,
      ] {
        let response = try await ada.put("/v1/defaults/standard/n", sent)
        #expect(response.status == 422, "\(sent)")
        #expect(response.problem == ProblemSummary("validation-failed", ""), "\(sent)")
        #expect(response.json["errors"]?[0]?["detail"]?.stringValue?.contains("Line 1, column") == true)
      }
    }
  }

  @Test("Malformed JSON is refused with its line and column, on every route that reads a body")
  func malformed() async throws {
    let routes = [
      "POST /v1/users", "POST /v1/sessions", "PUT /v1/me/password", "PUT /v1/me/credentials", "DELETE /v1/me",
      "PUT /v1/favorites/a",
      "PATCH /v1/favorites/a", "PUT /v1/favorites/a/position", "PATCH /v1/defaults/standard",
      "PUT /v1/defaults/standard/a", "PATCH /v1/profile", "POST /v1/actions", "PUT /v1/admin/registered/standard",
      "PATCH /v1/admin/registered/standard",
    ]
    let bodies: [(body: [UInt8], place: String?)] = [
      (Array("{\n  \"a\": 1,\n}".utf8), "Line 3, column 1"), (Array("{'a':1}".utf8), "Line 1, column 2"),
      (Array("{} {}".utf8), "Line 1, column 4"), ([0x22, 0xFF, 0x22], "Line 1, column 2"),
      (Array("NaN".utf8), "Line 1, column 1"),
      (Array(repeating: UInt8(ascii: "["), count: 16_000), "column"), (Array("{\"a\":01}".utf8), "column"),
      (Array("\"\\ud800\"".utf8), "column"), ([], nil),
    ]
    try await ServerFixture.run {
      $0.administratorToken = ServerFixture.administrator
    } _: { users in
      let ada = try await users.signUp()
      for route in routes {
        let parts = route.split(separator: " ").map(String.init)
        let token = parts[1].contains("admin") ? ServerFixture.administrator : ada.token
        let takesNone = ["PUT /v1/favorites/a", "DELETE /v1/me"].contains(route)
        for (body, place) in bodies where !(body.isEmpty && takesNone) {
          let response = try await users.ask(parts[0], parts[1], body: body, token: token)
          #expect(response.status == 400, "\(route)")
          #expect(response.problem == ProblemSummary("malformed-json"), "\(route)")
          if let place {
            #expect(response.json["detail"]?.stringValue?.contains(place) == true, "\(route) \(response.text)")
          }
        }
      }
    }
  }

  @Test("A body with another content type is refused, and every JSON content type is accepted")
  func mediaTypes() async throws {
    let routes = [
      ("POST", "/v1/users"), ("POST", "/v1/sessions"), ("PUT", "/v1/me/password"), ("DELETE", "/v1/me"),
      ("PUT", "/v1/favorites/a"), ("PATCH", "/v1/favorites/a"), ("PUT", "/v1/favorites/a/position"),
      ("PATCH", "/v1/defaults/standard"), ("PUT", "/v1/defaults/standard/a"), ("PATCH", "/v1/profile"),
      ("POST", "/v1/actions"),
    ]
    let refused = [
      "text/plain", "text/json", "application/xml", "multipart/form-data; boundary=x", "application/jsonx", "json",
      "application/octet-stream", "text/plain; x=application/json",
    ]
    let read = [
      "application/json", "Application/JSON; charset=UTF-8", "application/vnd.api+json",
      "application/x-www-form-urlencoded",
      "application/merge-patch+json",
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (method, path) in routes {
        for type in refused {
          let response = try await ada.ask(method, path, "{}", ["Content-Type: \(type)"])
          #expect(response.status == 415, "\(method) \(path) \(type)")
          #expect(response.problem == ProblemSummary("unsupported-media-type"))
        }
        for type in read {
          // The body is read, and its content determines the status.
          let response = try await ada.ask(method, path, "{}", ["Content-Type: \(type)"])
          #expect([200, 201, 404, 422].contains(response.status), "\(method) \(path) \(type) \(response.status)")
        }
      }
    }
  }

  @Test("A body above the limit is refused and changes nothing, with and without a Content-Length")
  func tooLarge() async throws {
    try await ServerFixture.run {
      $0.limits.body = 2_000
    } _: { users in
      let ada = try await users.signUp()
      let value = #"""# + String(repeating: "v", count: 1_998) + #"""#
      #expect(try await ada.put("/v1/defaults/standard/a", value).status == 201)
      for (method, path) in [
        ("PUT", "/v1/defaults/standard/b"), ("PUT", "/v1/favorites/b"), ("POST", "/v1/actions"), ("POST", "/v1/users"),
      ] {
        let response = try await ada.ask(method, path, value + " ")
        #expect(response.status == 413, "\(method) \(path)")
        #expect(response.problem == ProblemSummary("payload-too-large"))
      }
      let client = try users.connect()
      defer { client.close() }
      let fields = ["Authorization: Bearer \(ada.token)", "Transfer-Encoding: chunked"]
      try await client.send(StubbedServer.request("PUT", "/v1/defaults/standard/b", fields))
      try await client.send("7D1\r\n\(value) \r\n0\r\n\r\n")
      #expect(try await client.response().status == 413)
      #expect(try await ada.get("/v1/defaults").json["suites"]?[0]?["count"] == 1)
    }
  }

  /// Routes that read a body without a login or hash a password.
  private static let entrances = [("POST", "/v1/users"), ("POST", "/v1/sessions"), ("PUT", "/v1/me/password")]

  @Test("Bodies for signing up, logging in and changing the password have at most 16 KiB", arguments: entrances)
  func smallBodies(method: String, path: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let fields = ["Authorization: Bearer \(ada.token)"]
      let long = String(repeating: " ", count: 16 * 1024)
      // A body of exactly the limit is read. It has no members.
      #expect(try await ada.ask(method, path, String(long.dropLast(2)) + "{}").status == 422)
      let client = try users.connect()
      defer { client.close() }
      try await client.send(StubbedServer.request(method, path, fields + ["Content-Length: 16385"]))
      let refusal = try await client.response()
      #expect(refusal.status == 413)
      #expect(refusal.text.contains("16384 bytes"))
      let chunking = try users.connect()
      defer { chunking.close() }
      try await chunking.send(StubbedServer.request(method, path, fields + ["Transfer-Encoding: chunked"]))
      for _ in 0..<2 { try await chunking.send("2000\r\n\(long.prefix(8192))\r\n") }
      try await chunking.send("1\r\n")
      #expect(try await chunking.response().status == 413)
    }
  }

  @Test("SQL in any string is stored as text")
  func sql() async throws {
    let text = #"'); DELETE FROM users; --\"\\' OR '1'='1"#
    let encoded = #"'%29;%20DELETE%20FROM%20users;%20--%22"#
    try await ServerFixture.run { users in
      let response = try await users.post(
        "/v1/users",
        #"{"email":"o'brien--@example.com","password":"\#(text)","device":"\#(text)"}"#
      )
      #expect(response.status == 201)
      let user = try #require(response.json["user"]?["id"]?.stringValue)
      let token = try #require(response.json["token"]?.stringValue)
      let ada = Device(users: users, token: token, user: user, session: "")
      #expect(response.json["session"]?["device"]?.stringValue == #"'); DELETE FROM users; --"\' OR '1'='1"#)
      for body in [
        #"{"email":"' OR 1=1 --","password":"x"}"#, #"{"email":"o'brien--@example.com","password":"' OR '1'='1"}"#,
      ] {
        #expect(try await users.post("/v1/sessions", body).status == 401)
      }
      let key = ["Idempotency-Key: \(text)"]
      let put = try await ada.put(
        "/v1/favorites/\(encoded)",
        #"{"title":"\#(text)","data":{"\#(text)":"\#(text)"}}"#,
        key
      )
      #expect(put.status == 201)
      #expect(try await ada.put("/v1/defaults/standard/\(encoded)", #""\#(text)""#).status == 201)
      #expect(try await ada.patch("/v1/profile", #"{"position":"\#(text)"}"#).status == 200)
      #expect(try await ada.favoriteIDs("/v1/favorites?prefix=\(encoded)") == [#"'); DELETE FROM users; --""#])
      #expect(try await ada.get("/v1/favorites?after=' OR 1=1".replacing(" ", with: "%20")).status == 400)
      try await users.restart()
      #expect(try await ada.get("/v1/favorites/\(encoded)").body == put.body)
      #expect(try await ada.get("/v1/me").status == 200)
      #expect(try await users.count("users") == 1)
    }
  }

  @Test("Text with every JSON character, also NUL, is stored and returned unchanged")
  func text() async throws {
    let text = #""\u0000\u0001\n\t\u001f\"\\\/\u007f\u0080é🧑‍🚀\ud83d\ude00\uFFFF\u2028""#
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let title = try JSON(parsing: Array(text.utf8))
      let item = try await ada.put("/v1/favorites/a", #"{"title":\#(text),"data":\#(text)}"#)
      let value = try await ada.put("/v1/defaults/standard/a", text)
      #expect(item.json["title"] == title)
      #expect(value.json == title)
      try await users.restart()
      #expect(try await ada.get("/v1/favorites/a").body == item.body)
      #expect(try await ada.get("/v1/defaults/standard/a").body == value.body)
    }
  }
}

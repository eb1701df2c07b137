import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Random requests to declared collections and to built-in ones", .timeLimit(.minutes(10)))
struct DeclaredPropertyTests {
  private struct Step {
    let method: String
    let path: String
    var body: String?
    var fields: [String] = []
  }

  /// The name has as many letters as `favorites`, so that whole responses can be compared.
  private static func declared(_ body: (ServerFixture) async throws -> Void) async throws {
    try await ServerFixture.run { users in
      let services = try #require(users.running.withLock { $0?.services.users })
      let collections = [
        DeclaredCollection(name: "playlists", kind: .list, quota: users.configuration.favoritesQuota),
        DeclaredCollection(name: "levels", kind: .map),
      ]
      _ = try await services.perform(.apply(collections), key: nil)
      try await body(users)
    }
  }

  // MARK: Lists

  private static let values = [
    "null", "1", "1.0", "-0", "1e2", "true", #""text""#, #""é\u0000""#, "[]", "[1,{}]", #"{"a":{"b":[1]},"c":null}"#,
    #"{"stars":3}"#, #"{"stars":5,"done":false}"#, "12345678901234567890", #"{"":1}"#,
  ]

  private static func content(_ numbers: inout SeededNumbers) -> String {
    var members: [String] = []
    if !numbers.once(in: 3) { members.append(#""title":\#(numbers.one(of: [#""A""#, #""é""#, "null", #""""#, "7"]))"#) }
    if !numbers.once(in: 3) { members.append(#""data":\#(numbers.one(of: values))"#) }
    if numbers.once(in: 6) { members.append(#""index":\#(numbers.one(of: ["0", "2", "99", "-1", "0.5"]))"#) }
    if numbers.once(in: 8) { members.append(#""addedAt":"2026-01-01T00:00:00Z""#) }
    if numbers.once(in: 12) { members.append(#""other":1"#) }
    return "{\(members.joined(separator: ","))}"
  }

  private static func action(_ numbers: inout SeededNumbers) -> String {
    let id = #""id":"\#(numbers.below(6))""#
    let content = content(&numbers).dropFirst().dropLast()
    let members = content.isEmpty ? id : "\(id),\(content)"
    let type = numbers.one(of: ["add", "update", "remove", "move", "toggle", "clear", "shuffle"])
    let payload =
      switch type {
      case "add", "update", "toggle": "{\(members)}"
      case "move": "{\(id),\"index\":\(numbers.below(6))}"
      case "clear", "shuffle": "{}"
      default: "{\(id)}"
      }
    return #"{"module":"favorites","type":"\#(type)","payload":\#(payload)}"#
  }

  private static func listStep(_ numbers: inout SeededNumbers) -> Step {
    let list = "/v1/favorites"
    let element = "\(list)/\(numbers.below(6))"
    switch numbers.below(13) {
    case 0, 1, 2: return Step(method: "PUT", path: element, body: content(&numbers))
    case 3: return Step(method: "PATCH", path: element, body: content(&numbers))
    case 4:
      let patch = numbers.one(of: [
        #"[{"op":"add","path":"/data","value":{"stars":1}}]"#, #"[{"op":"remove","path":"/title"}]"#,
        #"[{"op":"test","path":"/data/stars","value":5},{"op":"replace","path":"/data/stars","value":4}]"#, "[]", "{}",
      ])
      return Step(method: "PATCH", path: element, body: patch, fields: ["Content-Type: application/json-patch+json"])
    case 5: return Step(method: "DELETE", path: element)
    case 6: return Step(method: "PUT", path: "\(element)/position", body: #"{"index":\#(numbers.below(8))}"#)
    case 7, 8:
      let actions = (0...numbers.below(3)).map { _ in action(&numbers) }.joined(separator: ",")
      let dry = numbers.once(in: 4) ? "?dryRun=true" : ""
      return Step(method: "POST", path: "/v1/actions\(dry)", body: #"{"actions":[\#(actions)]}"#)
    case 9: return Step(method: "GET", path: element)
    case 10:
      let query = numbers.one(of: [
        "", "?limit=2", "?limit=2&after=1", "?prefix=1", "?where=data.stars:ge:3", "?sort=-data.stars,id",
        "?where=title:eq:A&sort=-id&limit=1", "?limit=0", "?where=x",
      ])
      return Step(method: "GET", path: list + query)
    case 11:
      return Step(method: "GET", path: numbers.one(of: ["\(list)?at=CURSOR", "/v1/changes?since=CURSOR"]))
    default: return Step(method: "GET", path: numbers.one(of: ["/v1/journal", "/v1/changes", "/v1/journal?limit=2"]))
    }
  }

  /// The parts of a response that do not name the user, the request or its time.
  private static func comparable(_ response: RawResponse) -> String {
    let fields = response.fields.filter { field in
      ["etag", "cursor", "revision", "link", "location", "content-type", "cache-control"]
        .contains(field.prefix { $0 != ":" }.lowercased())
    }
    var body = response.text
    // The feed has the collections in the order in which the server has their modules.
    if response.status == 200, let changesets = response.json["changesets"]?.arrayValue {
      body = changesets.filter { $0["collection"] == "favorites" }.map(\.description).joined()
    }
    // A user's first write begins an era with a random number.
    return "\(response.status)\n\(fields.joined(separator: "\n"))\n\n\(body)"
      .replacing(#/-[0-9]+\./#, with: "-era.")
  }

  @Test("A declared list responds like favorites, byte for byte, except for names in sentences")
  func lists() async throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "Declared list"))
    try await Self.declared { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      // A problem has a cursor if the state is in memory. The server's first write opens a connection, after which it
      // forgets all states.
      _ = try await ada.delete("/v1/favorites/absent")
      _ = try await (ada.get("/v1/favorites"), bob.get("/v1/playlists"))
      var cursors = [("0", "0")]
      for _ in 0..<300 {
        if numbers.once(in: 5) { users.advance(by: 1) }
        let step = Self.listStep(&numbers)
        let (fields, cursor) = (step.fields, numbers.one(of: cursors))
        let path = { (cursor: String) in step.path.replacing("CURSOR", with: cursor) }
        let expected = try await ada.ask(step.method, path(cursor.0), step.body, fields)
        let other = try await SwappedWords.$current.withValue(SwappedWords(["favorites": "playlists"])) {
          try await bob.ask(step.method, path(cursor.1), step.body, fields)
        }
        let plain = Self.comparable(other)
          .replacing("element of favorites", with: "favorite")
          .replacing(#""session":"\#(bob.session)""#, with: #""session":"\#(ada.session)""#)
        let (left, right) = (Self.comparable(expected), plain)
        #expect(
          left == right,
          "\(step.method) \(step.path) \(step.body ?? "")\n\(left)\n\(right)"
        )
        if left != right { return }
        if let one = expected.field("Cursor"), let two = other.field("Cursor"), numbers.once(in: 4) {
          cursors.append((one, two))
        }
      }
    }
  }

  // MARK: Maps

  private static func mapStep(_ numbers: inout SeededNumbers) -> (suite: Step, map: Step) {
    let key = "\(numbers.below(5))"
    let (suite, map) = ("/v1/defaults/standard", "/v1/levels")
    func both(_ method: String, _ path: String, _ body: String? = nil, _ fields: [String] = []) -> (Step, Step) {
      (
        Step(method: method, path: suite + path, body: body, fields: fields),
        Step(method: method, path: map + path, body: body, fields: fields)
      )
    }
    switch numbers.below(9) {
    case 0, 1, 2: return both("PUT", "/\(key)", numbers.one(of: values))
    case 3: return both("DELETE", "/\(key)")
    case 4:
      return both("PATCH", "", #"{"\#(key)":\#(numbers.one(of: values)),"5":\#(numbers.one(of: values))}"#)
    case 5:
      let patch = numbers.one(of: [
        #"[{"op":"add","path":"/1","value":{"a":1}}]"#, #"[{"op":"remove","path":"/2"}]"#,
        #"[{"op":"copy","from":"/1","path":"/3"}]"#, #"[{"op":"replace","path":"","value":{"1":2}}]"#,
      ])
      return both("PATCH", "", patch, ["Content-Type: application/json-patch+json"])
    case 6, 7:
      let by = numbers.one(of: ["1", "-0.1", "0.2", "1e300", "9007199254740993", #""x""#])
      let (type, payload) = numbers.one(of: [
        ("increment", #""key":"\#(key)","by":\#(by)"#),
        ("set", #""key":"\#(key)","value":\#(numbers.one(of: values))"#),
        ("remove", #""key":"\#(key)""#), ("merge", #""values":{"\#(key)":\#(numbers.one(of: values))}"#), ("clear", ""),
      ])
      let more = payload.isEmpty ? "" : ","
      return (
        Step(
          method: "POST",
          path: "/v1/actions",
          body:
            #"{"actions":[{"module":"defaults","type":"\#(type)","payload":{"suite":"standard"\#(more)\#(payload)}}]}"#
        ),
        Step(
          method: "POST",
          path: "/v1/actions",
          body: #"{"actions":[{"module":"levels","type":"\#(type)","payload":{\#(payload)}}]}"#
        )
      )
    default: return both("GET", numbers.once(in: 2) ? "" : "/\(key)")
    }
  }

  @Test("A declared map has the values of a suite of defaults after the same requests")
  func maps() async throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "Declared map"))
    try await Self.declared { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      for _ in 0..<300 {
        let (suite, map) = Self.mapStep(&numbers)
        let expected = try await ada.ask(suite.method, suite.path, suite.body, suite.fields)
        let other = try await bob.ask(map.method, map.path, map.body, map.fields)
        let comment: Comment = "\(map.method) \(map.path) \(map.body ?? ""): \(expected.text) \(other.text)"
        #expect(expected.status == other.status, comment)
        let pointers = { (response: RawResponse) in
          response.status < 400 ? [] : (response.json["errors"]?.arrayValue ?? []).map { $0["pointer"]?.stringValue }
        }
        #expect(pointers(expected) == pointers(other), comment)
        if map.path.hasPrefix("/v1/levels/"), expected.status < 300 { #expect(expected.body == other.body, comment) }
        let (left, right) = (try await ada.get("/v1/defaults/standard"), try await bob.get("/v1/levels"))
        #expect(left.json["values"]?.encoded() == right.json["values"]?.encoded(), comment)
        #expect(left.field("Revision") == right.field("Revision"), comment)
        if expected.status != other.status { return }
      }
    }
  }
}

import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Several actions in one transaction", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct ActionsRouteTests {
  /// An action of a transaction.
  static func action(_ module: String, _ type: String, _ payload: String) -> String {
    #"{"module":"\#(SwappedWords.module(module))","type":"\#(type)","payload":\#(payload)}"#
  }

  static func batch(_ actions: [String]) -> String { #"{"actions":[\#(actions.joined(separator: ","))]}"# }

  @Test(
    "A transaction is one revision, each action sees the results of the ones before it, and the results are in order"
  )
  func batch() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let batch = Self.batch([
        Self.action("favorites", "add", #"{"id":"photo:1","title":"Aurora"}"#),
        Self.action("favorites", "move", #"{"id":"photo:1","index":0}"#),
        Self.action("favorites", "update", #"{"id":"photo:1","title":"Dawn"}"#),
        Self.action("defaults", "set", #"{"key":"n","value":1}"#),
        Self.action("defaults", "increment", #"{"key":"n","by":2}"#),
        Self.action("profile", "save", #"{"position":"Pilot"}"#),
      ])
      let response = try await ada.post("/v1/actions", batch)
      #expect(response.status == 200)
      #expect(response.json["cursor"]?.stringValue == response.cursor)
      let kinds = response.json["results"]?.arrayValue?.map {
        $0["mutations"]?.arrayValue?.compactMap { $0["type"]?.stringValue }
      }
      #expect(kinds == [["inserted"], [], ["modified"], ["set"], ["set"], ["set"]])
      for path in ["/v1/favorites", "/v1/defaults/standard", "/v1/profile"] {
        #expect(try await ada.get(path).cursor == response.cursor, "\(path)")
      }
      #expect(try await ada.get("/v1/favorites/photo:1").json["title"] == "Dawn")
      #expect(try await ada.get("/v1/defaults/standard/n").text == "3")
      #expect(
        try await users.rows(
          TestSQL(
            sqlite: "SELECT count(DISTINCT revision), max(revision >> 20), count(*) FROM journal",
            postgreSQL: "SELECT count(DISTINCT number), max(number), count(*) FROM journal"
          )
        ) == [
          ["1", "1", "5"]
        ]
      )
    }
  }

  @Test("Every type of action has its effect", .withoutDeclaredMap)
  func types() async throws {
    let steps: [(module: String, type: String, payload: String, mutations: String)] = [
      ("favorites", "toggle", #"{"id":"a","title":"A"}"#, "inserted"),
      ("favorites", "toggle", #"{"id":"a"}"#, "removed"),
      ("favorites", "add", #"{"id":"a"}"#, "inserted"), ("favorites", "add", #"{"id":"b","index":0}"#, "inserted"),
      ("favorites", "add", #"{"id":"a","data":[1]}"#, "modified"),
      ("favorites", "move", #"{"id":"a","index":0}"#, "moved"),
      ("favorites", "update", #"{"id":"a","data":null,"title":"T"}"#, "modified"),
      ("favorites", "update", #"{"id":"a","title":"T"}"#, ""), ("favorites", "remove", #"{"id":"a"}"#, "removed"),
      ("favorites", "clear", "{}", "cleared"), ("favorites", "clear", "{}", ""),
      ("defaults", "set", #"{"key":"k","value":{"x":1}}"#, "set"),
      ("defaults", "set", #"{"suite":"other","key":"k","value":1}"#, "set"),
      ("defaults", "merge", #"{"values":{"k":null,"l":2,"m":3}}"#, "removed set set"),
      ("defaults", "increment", #"{"key":"l","by":0.5}"#, "set"),
      ("defaults", "increment", #"{"key":"new","by":-1}"#, "set"),
      ("defaults", "remove", #"{"key":"l"}"#, "removed"), ("defaults", "clear", "{}", "cleared"),
      ("defaults", "clear", #"{"suite":"other"}"#, "cleared"),
      ("profile", "save", #"{"companyName":"C","position":"P"}"#, "set set"), ("profile", "save", "{}", ""),
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (module, type, payload, mutations) in steps {
        let response = try await ada.post("/v1/actions", Self.batch([Self.action(module, type, payload)]))
        #expect(response.status == 200, "\(type) \(payload) \(response.text)")
        let found = response.json["results"]?[0]?["mutations"]?.arrayValue?.compactMap { $0["type"]?.stringValue }
        #expect(found?.joined(separator: " ") == mutations, "\(type) \(payload)")
      }
      #expect(try await ada.get("/v1/favorites").json["count"] == 0)
      #expect(try await ada.get("/v1/defaults").json["suites"] == [])
      #expect(try await ada.get("/v1/profile").text == #"{"companyName":"C","position":"P"}"#)
    }
  }

  @Test(
    "All invalid actions are reported with their places, and the first one determines the status",
    .withoutDeclaredMap
  )
  func faults() async throws {
    let good = Self.action("favorites", "add", #"{"id":"x"}"#)
    let cases: [(actions: [String], failed: Int, pointers: [String])] = [
      ([good, Self.action("fish", "add", "{}")], 1, ["/actions/1/module"]),
      ([Self.action("favorites", "dance", "{}")], 0, ["/actions/0/type"]),
      (["{}"], 0, ["/actions/0/module", "/actions/0/type"]),
      ([good, "7", good, "null"], 1, ["/actions/1", "/actions/3"]),
      ([#"{"module":1,"type":2}"#], 0, ["/actions/0/module", "/actions/0/type"]),
      (
        [good, Self.action("favorites", "add", #"{"title":1}"#), Self.action("defaults", "set", "{}")], 1,
        ["/actions/1/payload/id", "/actions/1/payload/title", "/actions/2/payload/key", "/actions/2/payload/value"]
      ),
      (
        [Self.action("favorites", "move", #"{"id":"","index":"1"}"#)], 0,
        ["/actions/0/payload/id", "/actions/0/payload/index"]
      ),
      (
        [Self.action("defaults", "set", #"{"suite":"a b","key":"\u0001","value":null}"#)], 0,
        ["/actions/0/payload/suite", "/actions/0/payload/key", "/actions/0/payload/value"]
      ),
      ([Self.action("defaults", "increment", #"{"key":"a","by":"1"}"#)], 0, ["/actions/0/payload/by"]),
      ([Self.action("defaults", "merge", #"{"values":{"":1,"b":2}}"#)], 0, ["/actions/0/payload/values/"]),
      ([Self.action("defaults", "merge", #"{"values":[1]}"#)], 0, ["/actions/0/payload/values"]),
      ([Self.action("profile", "save", #"{"position":""}"#)], 0, ["/actions/0/payload/position"]),
      ([Self.action("favorites", "clear", "[]")], 0, ["/actions/0/payload"]),
      (
        [
          Self.action("profile", "save", #"{"companyName":" ","position":7}"#),
          Self.action("profile", "save", #"{"companyName":"A","colour":"red"}"#), Self.action("favorites", "add", "{}"),
        ], 0,
        [
          "/actions/0/payload/companyName", "/actions/0/payload/position", "/actions/1/payload/colour",
          "/actions/2/payload/id",
        ]
      ),
      (
        [
          #"{"module":"fish","type":1,"ifMatch":5}"#, #"{"module":"favorites","type":"add","payload":{},"ifMatch":""}"#,
        ],
        0,
        [
          "/actions/0/module", "/actions/0/type", "/actions/0/ifMatch", "/actions/1/ifMatch", "/actions/1/payload/id",
        ]
      ),
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (actions, failed, pointers) in cases {
        let response = try await ada.post("/v1/actions", Self.batch(actions))
        #expect(response.problem == ProblemSummary(slug: "validation-failed", pointers: pointers), "\(actions)")
        #expect(response.json["failed"]?.intValue == failed, "\(actions)")
      }
      #expect(try await ada.get("/v1/favorites").json["count"] == 0)
      #expect(try await users.count("journal") == 0)
    }
  }

  @Test("A transaction has 1 to 500 actions")
  func size() async throws {
    let many = (0..<501).map { Self.action("favorites", "add", #"{"id":"\#($0)"}"#) }
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for body in [Self.batch([]), Self.batch(many), "{}", #"{"actions":{}}"#, #"{"actions":null}"#] {
        let response = try await ada.post("/v1/actions", body)
        #expect(response.problem == ProblemSummary("validation-failed", "/actions"), "\(body.prefix(30))")
      }
      #expect(try await ada.post("/v1/actions", "[]").problem == ProblemSummary("validation-failed", ""))
      #expect(try await ada.post("/v1/actions", Self.batch(many.dropLast())).status == 200)
      #expect(try await ada.get("/v1/favorites").json["count"] == 500)
    }
  }

  @Test("A problem lists at most 100 faults")
  func manyFaults() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let faulty = Self.action("favorites", "add", #"{"id":7,"title":7}"#)
      let refused = try await ada.post(
        "/v1/actions",
        Self.batch([Self.action("favorites", "clear", "{}")] + Array(repeating: faulty, count: 499))
      )
      let errors = refused.json["errors"]?.arrayValue ?? []
      #expect(refused.status == 422 && refused.json["failed"] == 1)
      #expect(errors.count == 100 && errors.last?["pointer"] == "/actions/50/payload/title", "\(errors.last ?? .null)")
    }
  }

  @Test("A transaction of 500 actions changes nothing if the last one is refused")
  func lastOneWrong() async throws {
    let refusals: [(action: String, expected: ProblemSummary)] = [
      (Self.action("favorites", "remove", #"{"id":"absent"}"#), ProblemSummary("not-found")),
      (Self.action("favorites", "add", #"{"id":7}"#), ProblemSummary("validation-failed", "/actions/499/payload/id")),
      (Self.action("defaults", "increment", #"{"key":"text","by":1}"#), ProblemSummary("conflict")),
      (Self.action("favorites", "add", #"{"id":"one too many"}"#), ProblemSummary("quota-exceeded")),
    ]
    try await ServerFixture.run {
      $0.favoritesQuota.elements = 499
    } _: { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/text", #""seven""#)
      let before = try await users.rows("SELECT * FROM journal")
      let cursor = try await ada.get("/v1/favorites").cursor
      for (action, expected) in refusals {
        let adding = (0..<499).map { Self.action("favorites", "add", #"{"id":"\#($0)"}"#) }
        let response = try await ada.post("/v1/actions", Self.batch(adding + [action]))
        #expect(response.problem == expected)
        #expect(response.json["failed"] == 499)
        let list = try await ada.get("/v1/favorites")
        #expect(list.json["count"] == 0)
        #expect(list.cursor == cursor)
      }
      #expect(try await users.count("favorites") == 0)
      #expect(try await users.rows("SELECT * FROM journal") == before)
      try await users.restart()
      #expect(try await ada.get("/v1/favorites").cursor == cursor)
    }
  }

  @Test("If-Match with a cursor makes a transaction conditional on the whole state")
  func conditional() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let cursor = try #require(try await ada.get("/v1/profile").cursor)
      let batch = Self.batch([Self.action("favorites", "add", #"{"id":"a"}"#)])
      let done = try await ada.post("/v1/actions", batch, [#"If-Match: "\#(cursor)""#])
      #expect(done.status == 200)
      let refused = try await ada.post("/v1/actions", batch, [#"If-Match: "\#(cursor)""#])
      #expect(refused.status == 412)
      #expect(refused.problem == ProblemSummary("precondition-failed"))
      #expect(refused.json["cursor"]?.stringValue == done.cursor)
      #expect(refused.json["current"]?["cursor"]?.stringValue == done.cursor)
    }
  }

  @Test("Whole numbers are added exactly, and a sum beyond 64 bits is refused")
  func increments() async throws {
    let cases: [(start: String, by: String, result: String?)] = [
      ("9223372036854775806", "1", "9223372036854775807"), ("9223372036854775807", "1", "9223372036854775808"),
      ("18446744073709551614", "1", "18446744073709551615"), ("18446744073709551615", "1", nil),
      ("18446744073709551615", "-18446744073709551615", nil), ("-9223372036854775808", "-1", nil),
      ("18446744073709551615", "-9223372036854775808", "9223372036854775807"), ("0.5", "0.25", "0.75"),
      ("1", "0.5", "1.5"), ("1e+308", "1e308", nil), (#""1""#, "1", nil), ("[1]", "1", nil), ("true", "1", nil),
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (start, by, result) in cases {
        _ = try await ada.put("/v1/defaults/standard/n", start)
        let action = Self.action("defaults", "increment", #"{"key":"n","by":\#(by)}"#)
        let response = try await ada.post("/v1/actions", Self.batch([action]))
        if let result {
          #expect(response.status == 200, "\(start) + \(by)")
          #expect(try await ada.get("/v1/defaults/standard/n").text == result)
        } else {
          #expect(response.status == (by.count > 20 ? 422 : 409), "\(start) + \(by)")
          #expect(try await ada.get("/v1/defaults/standard/n").text == start)
        }
      }
    }
  }
}

import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepTime

@Suite("The reactor of favorites", .timeLimit(.minutes(10)))
struct FavoritesReactorTests {
  private static let then = #""addedAt":"1970-01-01T00:00:01.000Z","updatedAt":"1970-01-01T00:00:01.000Z""#
  private static let replaced = #""addedAt":"1970-01-01T00:00:01.000Z","updatedAt":"1970-01-01T00:00:05.000Z""#
  private static let new = #""addedAt":"1970-01-01T00:00:05.000Z","updatedAt":"1970-01-01T00:00:05.000Z""#

  /// The favorites a (with a title), b (with data), c (with neither) and é (composed).
  private static let present: ListState = ListState(
    [
      ("a", #"{"id":"a","title":"A",\#(then)}"#), ("b", #"{"id":"b","data":{"x":1,"y":[2]},\#(then)}"#),
      ("c", #"{"id":"c",\#(then)}"#), ("\u{E9}", "{\"id\":\"\u{E9}\",\"title\":\"\u{E9}\",\(then)}"),
    ].map { ListItem(id: $0.0, encoded: Array($0.1.utf8), revision: 1) },
    revision: 1
  )

  private static func decision(
    _ type: String,
    _ payload: String,
    quota: CollectionQuota = .init(),
    in state: ListState = present
  ) throws -> Decision.Outcome {
    try Decision.outcome(
      of: type,
      payload,
      asked: .favorites(quota: quota),
      in: UserState(CollectionName("favorites"), .list(state))
    )
  }

  private static let adding: [Decision] = [
    Decision(
      "add",
      #"{"id":"d","title":"D","data":[1]}"#,
      .facts(
        #"[{"type":"inserted","payload":{"index":4,"item":{"id":"d","title":"D","data":[1],\#(new)}}}]"#
      )
    ),
    Decision(
      "add",
      #"{"id":"d","index":1}"#,
      .facts(#"[{"type":"inserted","payload":{"index":1,"item":{"id":"d",\#(new)}}}]"#)
    ),
    Decision(
      "add",
      #"{"id":"d","index":99,"title":null,"data":null}"#,
      .facts(#"[{"type":"inserted","payload":{"index":4,"item":{"id":"d",\#(new)}}}]"#)
    ),
    // A decomposed é, which differs from the existing composed one.
    Decision(
      "add",
      "{\"id\":\"e\u{301}\"}",
      .facts("[{\"type\":\"inserted\",\"payload\":{\"index\":4,\"item\":{\"id\":\"e\u{301}\",\(new)}}}]")
    ),
    // An existing favorite is replaced in its place, whatever the index.
    Decision(
      "add",
      #"{"id":"a","title":"B","index":2}"#,
      .facts(#"[{"type":"modified","payload":{"item":{"id":"a","title":"B",\#(replaced)}}}]"#)
    ),
    Decision(
      "add",
      #"{"id":"a"}"#,
      .facts(#"[{"type":"modified","payload":{"item":{"id":"a",\#(replaced)}}}]"#)
    ),
    Decision(
      "add",
      "{\"id\":\"\u{E9}\",\"title\":\"e\u{301}\"}",
      .facts("[{\"type\":\"modified\",\"payload\":{\"item\":{\"id\":\"\u{E9}\",\"title\":\"e\u{301}\",\(replaced)}}}]")
    ),
    // The same content is no change.
    Decision("add", #"{"id":"a","title":"A"}"#, Decision.nothing),
    Decision("add", #"{"id":"b","data":{"x":1,"y":[2]}}"#, Decision.nothing),
    Decision("add", #"{"id":"","title":1,"data":{},"index":-1}"#, Decision.invalid("/id", "/title", "/index")),
    Decision("add", #"{"title":"no id"}"#, Decision.invalid("/id")),
    Decision("add", #"{"id":"a\u0007"}"#, Decision.invalid("/id")),
    Decision("add", #"{"id":7,"index":1.5}"#, Decision.invalid("/id", "/index")),
    Decision("add", #"[]"#, Decision.invalid("")),
  ]

  private static let changing: [Decision] = [
    Decision(
      "update",
      #"{"id":"b","title":"B"}"#,
      .facts(#"[{"type":"modified","payload":{"item":{"id":"b","title":"B","data":{"x":1,"y":[2]},\#(replaced)}}}]"#)
    ),
    Decision(
      "update",
      #"{"id":"b","data":{"x":null,"z":3}}"#,
      .facts(#"[{"type":"modified","payload":{"item":{"id":"b","data":{"y":[2],"z":3},\#(replaced)}}}]"#)
    ),
    Decision(
      "update",
      #"{"id":"a","title":null}"#,
      .facts(#"[{"type":"modified","payload":{"item":{"id":"a",\#(replaced)}}}]"#)
    ),
    Decision("update", #"{"id":"a","title":"A"}"#, Decision.nothing),
    Decision("update", #"{"id":"a","addedAt":"never"}"#, Decision.nothing),
    Decision("update", #"{"id":"z","title":"Z"}"#, .refused(.notFound)),
    Decision("update", #"{"id":"a","title":["no"]}"#, Decision.invalid("/title")),
    Decision("remove", #"{"id":"b"}"#, .facts(#"[{"type":"removed","payload":{"id":"b"}}]"#)),
    Decision("remove", #"{"id":"z"}"#, .refused(.notFound)),
    Decision("remove", "{\"id\":\"e\u{301}\"}", .refused(.notFound)),
    Decision("move", #"{"id":"a","index":2}"#, .facts(#"[{"type":"moved","payload":{"id":"a","to":2}}]"#)),
    Decision("move", #"{"id":"a","index":99}"#, .facts(#"[{"type":"moved","payload":{"id":"a","to":3}}]"#)),
    Decision("move", #"{"id":"b","index":1}"#, Decision.nothing),
    Decision("move", "{\"id\":\"\u{E9}\",\"index\":99}", Decision.nothing),
    Decision("move", #"{"id":"z","index":0}"#, .refused(.notFound)),
    Decision("move", #"{"id":"a"}"#, Decision.invalid("/index")),
    Decision("toggle", #"{"id":"a","title":"ignored"}"#, .facts(#"[{"type":"removed","payload":{"id":"a"}}]"#)),
    Decision(
      "toggle",
      #"{"id":"d","title":"D"}"#,
      .facts(#"[{"type":"inserted","payload":{"index":4,"item":{"id":"d","title":"D",\#(new)}}}]"#)
    ),
    Decision("clear", "{}", .facts(#"[{"type":"cleared","payload":{}}]"#)),
  ]

  @Test("An action gives the expected mutations or the expected refusal", arguments: adding + changing)
  func decides(_ row: Decision) throws {
    #expect(try Self.decision(row.action, row.payload) == row.outcome)
  }

  @Test("Clearing an empty list changes nothing, and any other type of action is unknown")
  func others() throws {
    #expect(try Self.decision("clear", "{}", in: ListState()) == Decision.nothing)
    let module = UserModule.favorites()
    for type in ["", "patch", "Add", "clear ", "inserted"] {
      #expect(try module.read(type, ["id": "a", "operations": []]) == nil)
    }
  }

  @Test("A JSON patch changes the title and the data, and nothing else")
  func patches() throws {
    func decision(_ id: String, _ operations: JSON) throws -> Decision.Outcome {
      let verb = try #require(UserModule.favorites().verbs[.jsonPatch])
      let context = ActionContext(
        state: UserState(CollectionName("favorites"), .list(Self.present)),
        registered: RegisteredDefaults(),
        now: Timestamp(millisecondsSince1970: 5_000)
      )
      do {
        let facts = try verb.read(["id": .string(id), "operations": operations], nil).decide(context)
        return .facts(String(decoding: CollectionMutation.encoded(facts), as: UTF8.self))
      } catch let refusal as Refusal {
        return .refused(refusal.withoutWords)
      }
    }
    #expect(
      try decision("b", [["op": "replace", "path": "/data/x", "value": 2]])
        == .facts(#"[{"type":"modified","payload":{"item":{"id":"b","data":{"x":2,"y":[2]},\#(Self.replaced)}}}]"#)
    )
    #expect(try decision("b", [["op": "test", "path": "/data/x", "value": 2]]) == .refused(.conflict))
    #expect(try decision("b", [["op": "test", "path": "/data/x", "value": 1]]) == Decision.nothing)
    #expect(try decision("b", [["op": "add", "path": "/id", "value": "c"]]) == Decision.invalid("/id"))
    #expect(try decision("b", [["op": "replace", "path": "", "value": 7]]) == Decision.invalid(""))
    #expect(try decision("b", [["op": "remove", "path": "/title"]]) == Decision.invalid("/0"))
    #expect(try decision("z", []) == .refused(.notFound))
  }

  @Test("Titles and data have exact limits")
  func bounds() throws {
    func isTaken(_ payload: String) throws -> Bool {
      if case .facts = try Self.decision("add", payload) { true } else { false }
    }
    func add(id: Int = 1, title: Int = 0, data: Int = 2) throws -> Bool {
      let (id, title) = (String(repeating: "i", count: id), String(repeating: "t", count: title))
      return try isTaken(#"{"id":"\#(id)","title":"\#(title)","data":"\#(String(repeating: "d", count: data - 2))"}"#)
    }
    #expect(try add(id: 256) && !add(id: 257))
    #expect(try add(title: 512) && !add(title: 513))
    #expect(try add(data: 16 * 1024) && !add(data: 16 * 1024 + 1))
  }

  @Test("Above the quota, a list may not grow, but favorites may still be replaced, removed and moved")
  func quota() throws {
    let full = CollectionQuota(elements: 4, bytes: 1_000_000)
    #expect(try Self.decision("add", #"{"id":"d"}"#, quota: full) == .refused(.quotaExceeded))
    #expect(try Self.decision("toggle", #"{"id":"d"}"#, quota: full) == .refused(.quotaExceeded))
    #expect(try Self.decision("add", #"{"id":"a"}"#, quota: full) != .refused(.quotaExceeded))
    let heavy = CollectionQuota(elements: 100, bytes: Self.present.bytes)
    #expect(try Self.decision("add", #"{"id":"d"}"#, quota: heavy) == .refused(.quotaExceeded))
    #expect(try Self.decision("update", #"{"id":"a","title":"AA"}"#, quota: heavy) == .refused(.quotaExceeded))
    #expect(try Self.decision("update", #"{"id":"a","title":"B"}"#, quota: heavy) != .refused(.quotaExceeded))
    // A quota that was lowered doesn't keep what is there from becoming smaller.
    let lowered = CollectionQuota(elements: 1, bytes: 10)
    #expect(try Self.decision("update", #"{"id":"a","title":null}"#, quota: lowered) != .refused(.quotaExceeded))
  }
}

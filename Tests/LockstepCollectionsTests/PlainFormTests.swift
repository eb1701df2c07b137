import LockstepJSON
import LockstepTime
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("A list whose elements have no Swift type", .timeLimit(.minutes(10)))
struct PlainFormTests {
  /// The list of favorites with one more member.
  private static let module = UserModule.list(
    "bookmarks",
    PlainForm(
      "bookmark",
      [
        .text("title", upTo: 512),
        .json("data", upTo: 16 * 1024),
        .text("note", upTo: 9),
        .added("addedAt"),
        .changed("updatedAt"),
      ]
    ),
    quota: CollectionQuota()
  )
  private static let then = #""addedAt":"1970-01-01T00:00:01.000Z","updatedAt":"1970-01-01T00:00:01.000Z""#
  private static let changed = #""addedAt":"1970-01-01T00:00:01.000Z","updatedAt":"1970-01-01T00:00:05.000Z""#
  private static let state = UserState(
    CollectionName("bookmarks"),
    .list(
      ListState(
        [ListItem(id: "a", encoded: Array(#"{"id":"a","title":"A","note":"old",\#(then)}"#.utf8), revision: 1)],
        revision: 1
      )
    )
  )

  private static func mutations(_ action: UserAction) throws -> String {
    let context = ActionContext(
      state: state,
      registered: RegisteredDefaults(),
      now: Timestamp(millisecondsSince1970: 5_000)
    )
    return String(decoding: CollectionMutation.encoded(try action.decide(context)), as: UTF8.self)
  }

  private static func perform(_ type: String, _ payload: JSON) throws -> String {
    try mutations(try #require(try module.read(type, payload)))
  }

  private static func perform(_ verb: ElementVerb, _ payload: JSON) throws -> String {
    try mutations(try #require(module.verbs[verb]).read(payload, nil))
  }

  @Test("A member that is declared in one line can be set, changed, removed and patched")
  func oneLine() throws {
    func replaced(_ members: String) -> String {
      #"[{"type":"modified","payload":{"item":{"id":"a",\#(members)\#(Self.changed)}}}]"#
    }
    let new = replaced(#""title":"A","note":"new","#)
    #expect(try Self.perform("add", ["id": "a", "title": "A", "note": "new"]) == new)
    #expect(try Self.perform("add", ["id": "a", "title": "A", "note": "old"]) == "[]")
    #expect(try Self.perform("update", ["id": "a", "note": "new"]) == new)
    #expect(try Self.perform(.patch, ["id": "a", "note": nil]) == replaced(#""title":"A","#))
    let patch: JSON = [["op": "move", "from": "/note", "path": "/data"]]
    #expect(
      try Self.perform(.jsonPatch, ["id": "a", "operations": patch]) == replaced(#""title":"A","data":"old","#)
    )
  }

  @Test("The faults, the schemas and the journal have the member too")
  func described() throws {
    #expect(throws: Refusal.invalid("/note", "It must have at most 9 bytes, and has 10.")) {
      try Self.perform("add", ["id": "b", "note": "1234567890"])
    }
    #expect(throws: Refusal.invalid("/other", "Only title, data and note can be changed.")) {
      try Self.perform(.patch, ["id": "a", "other": 1])
    }
    #expect(throws: Refusal.notFound("There is no bookmark with the id “z”.")) {
      try Self.perform(.patch, ["id": "z", "other": 1])
    }
    let element = Self.module.state["properties"]?["items"]?["items"]
    #expect(element?["properties"]?.objectValue?.names == ["id", "title", "data", "note", "addedAt", "updatedAt"])
    #expect(element?["required"] == ["id", "addedAt", "updatedAt"])
    let payload = Self.module.actions[0]?["payload"]?["properties"]
    #expect(payload?["note"] == ["type": ["string", "null"], "maxLength": 9])
    let action = try #require(try Self.module.read("add", ["note": "x", "addedAt": 1, "id": "b", "data": nil]))
    #expect(action.record == #"{"type":"add","payload":{"id":"b","note":"x"}}"#)
  }

  @Test("An element that lacks a member can be read, unless all elements have the member")
  func older() throws {
    let canRead = try #require(Self.module.canRead)
    #expect(canRead(Array(#"{"id":"a",\#(Self.then)}"#.utf8)))
    #expect(!canRead(Array(#"{"id":"a","addedAt":"1970-01-01T00:00:01.000Z"}"#.utf8)))
    #expect(!canRead(Array("1".utf8)))
  }
}

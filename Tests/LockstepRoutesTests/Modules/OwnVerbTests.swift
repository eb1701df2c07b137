import LockstepCollections
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The verbs jsonPatch and move serve any list", .timeLimit(.minutes(10)))
struct OwnVerbTests {
  private static func run(_ body: (Device) async throws -> Void) async throws {
    try await ServerFixture.run(modules: [.lines]) { server in
      let ada = try await server.signUp()
      for id in ["a", "b", "c"] { _ = try await ada.put("/v1/lines/\(id)", #"{"text":"\#(id)"}"#) }
      try await body(ada)
    }
  }

  @Test("A JSON patch changes an element, and faults point into the patch")
  func jsonPatch() async throws {
    try await Self.run { ada in
      let type = ["Content-Type: application/json-patch+json"]
      let patch = #"[{"op":"replace","path":"/text","value":"new"}]"#
      let patched = try await ada.patch("/v1/lines/a", patch, type)
      #expect(patched.status == 200)
      #expect(patched.json["text"]?.stringValue == "new")
      let wrong = try await ada.patch("/v1/lines/a", #"[{"op":"fly","path":"/text"}]"#, type)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/0/op"))
    }
  }

  @Test("A module without the verb patch refuses members with 415")
  func members() async throws {
    try await Self.run { ada in
      let patch = #"[{"op":"replace","path":"/text","value":"new"}]"#
      for body in [#"{"text":"new"}"#, #"{"operations":\#(patch)}"#] {
        let refused = try await ada.patch("/v1/lines/a", body)
        #expect(refused.status == 415)
      }
    }
  }

  @Test("A move past the end is a move to the end, and an id in the body is refused")
  func move() async throws {
    try await Self.run { ada in
      let moved = try await ada.put("/v1/lines/a/position", #"{"index":9}"#)
      #expect(moved.status == 200)
      #expect(moved.json["index"]?.intValue == 2)
      let wrong = try await ada.put("/v1/lines/a/position", #"{"index":0,"id":"a"}"#)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/id"))
    }
  }
}

private enum LinesAction: Sendable {
  case put(id: String, text: String)
  case patch(id: String, PatchDocument)
  case move(id: String, index: Int)
}

private struct LinesReactor: ModuleReactor {
  func mutate(_ action: LinesAction, in lines: ListState) throws(Refusal) -> [ListMutation] {
    switch action {
    case .put(let id, let text): return [.inserting(Line(id: id, text: text), at: lines.count)]
    case .patch(let id, let patch):
      let object = try patch.applied(to: .object(lines[id]?.object ?? JSONObject())).objectValue ?? JSONObject()
      guard let line = try? JSON.object(object).decoded(as: Line.self) else { throw .invalid("", "It must be a line.") }
      return [.replacing(line)]
    case .move(let id, let index): return [.moved(id: id, to: min(index, lines.count - 1))]
    }
  }
}

private struct Line: Codable, Identifiable, Equatable, Sendable {
  let id: String
  let text: String
}

extension UserModule {
  fileprivate static var lines: UserModule {
    .list(
      "lines",
      of: Line.self,
      actions: [
        ActionCase("put", .name("id"), .text("text")) { LinesAction.put(id: $0, text: $1) },
        ActionCase("move", .name("id"), .index("index")) { .move(id: $0, index: $1) },
      ],
      verbs: [
        .put: "put", .move: "move",
        .jsonPatch: .unlisted(ActionCase("patch", .name("id"), .jsonPatch("operations")) { .patch(id: $0, $1) }),
      ]
    ) { _ in LinesReactor() }
  }
}

import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport

@Suite("The reactor of the profile", .timeLimit(.minutes(10)))
struct ProfileReactorTests {
  private static func decision(_ type: String, _ payload: String) throws -> Decision.Outcome {
    try Decision.outcome(
      of: type,
      payload,
      asked: UserModule.profile,
      in: UserState(CollectionName("profile"), .map(MapState(texts: ["companyName": #""Aurora""#])))
    )
  }

  private static func set(_ facts: (String, String)...) -> Decision.Outcome {
    let texts = facts.map { "{\"type\":\"set\",\"payload\":{\"key\":\"\($0.0)\",\"value\":\"\($0.1)\"}}" }
    return .facts("[\(texts.joined(separator: ","))]")
  }

  private static let rows: [Decision] = [
    Decision(
      "save",
      #"{"position":"Chief","companyName":"Borealis"}"#,
      set(("companyName", "Borealis"), ("position", "Chief"))
    ),
    Decision("save", #"{"position":" \t Chief of\u2003staff\n"}"#, set(("position", "Chief of\u{2003}staff"))),
    Decision("save", #"{"companyName":" Aurora "}"#, Decision.nothing),
    Decision("save", #"{}"#, Decision.nothing),
    Decision("save", #"{"else":1,"position":"Chief"}"#, Decision.invalid("/else")),
    Decision("save", #"{"companyName":"  ","position":null}"#, Decision.invalid("/companyName", "/position")),
    Decision("save", #"{"companyName":7,"position":"Chief"}"#, Decision.invalid("/companyName")),
    Decision("save", #"[]"#, Decision.invalid("")),
  ]

  @Test("An action gives the expected mutations or the expected refusal", arguments: rows)
  func decides(_ row: Decision) throws {
    #expect(try Self.decision(row.action, row.payload) == row.outcome)
  }

  @Test("A field has at most 200 characters, also with many combining marks")
  func bounds() throws {
    func isTaken(_ text: String) throws -> Bool {
      if case .facts = try Self.decision("save", "{\"position\":\"\(text)\"}") { true } else { false }
    }
    #expect(try isTaken(String(repeating: "東", count: 200)))
    #expect(try isTaken(" " + String(repeating: "x", count: 200) + " "))
    #expect(try !isTaken(String(repeating: "x", count: 201)))
    #expect(try !isTaken("x" + String(repeating: "\u{301}", count: 200)))
  }

  @Test("Any other type of action is unknown")
  func others() throws {
    for type in ["", "set", "clear", "Save"] { #expect(try UserModule.profile.read(type, [:]) == nil) }
  }
}

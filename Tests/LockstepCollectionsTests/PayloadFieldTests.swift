import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Payload fields accept what their schemas describe", .timeLimit(.minutes(10)))
struct PayloadFieldTests {
  /// A field, a payload, and the value that is read. If the value is nil, the member `x` is a
  /// fault.
  struct Case: Sendable, CustomTestStringConvertible {
    let field: ActionCase<String>
    let payload: JSON
    let read: String?
    var testDescription: String { "\(field.type) \(payload)" }

    init<Value>(_ type: String, _ field: PayloadField<Value>, _ payload: JSON, _ read: String?) {
      self.field = ActionCase(type, field) { "\($0)" }
      self.payload = payload
      self.read = read
    }
  }

  private static let cases: [Case] = [
    Case("text", .text("x", bytes: 2...3), ["x": "ab"], "ab"),
    Case("text", .text("x", bytes: 2...3), ["x": "a"], nil),
    Case("text", .text("x", bytes: 2...3), ["x": "éé"], nil),
    Case("text", .text("x", bytes: 2...3), ["x": nil], nil),
    Case("text", .text("x", bytes: 2...3), [:], nil),
    Case("optionalText", .optionalText("x", bytes: 1...2), ["x": "ab"], #"Optional("ab")"#),
    Case("optionalText", .optionalText("x", bytes: 1...2), ["x": nil], "nil"),
    Case("optionalText", .optionalText("x", bytes: 1...2), [:], "nil"),
    Case("optionalText", .optionalText("x", bytes: 1...2), ["x": ""], nil),
    Case("optionalText", .optionalText("x", bytes: 1...2), ["x": 1], nil),
    Case("whole", .whole("x", -1...1), ["x": -1], "-1"),
    Case("whole", .whole("x", -1...1), ["x": 2], nil),
    Case("whole", .whole("x", -1...1), ["x": 0.5], nil),
    Case("whole", .whole("x", -1...1), ["x": "1"], nil),
    Case("whole", .whole("x", -1...1), [:], nil),
    Case("optionalWhole", .optionalWhole("x", 1...9), ["x": 9], "Optional(9)"),
    Case("optionalWhole", .optionalWhole("x", 1...9), ["x": nil], "nil"),
    Case("optionalWhole", .optionalWhole("x", 1...9), [:], "nil"),
    Case("optionalWhole", .optionalWhole("x", 1...9), ["x": 10], nil),
    Case("optionalFlag", .optionalFlag("x"), ["x": false], "Optional(false)"),
    Case("optionalFlag", .optionalFlag("x"), [:], "nil"),
    Case("optionalFlag", .optionalFlag("x"), ["x": 0], nil),
    Case("json", .json("x", bytes: 3), ["x": [1]], "[1]"),
    Case("json", .json("x", bytes: 3), ["x": [10]], nil),
    Case("json", .json("x", bytes: 4), ["x": nil], "null"),
    Case("json", .json("x", bytes: 3), [:], nil),
    Case("checked", .text("x").checked { $0 == "b" ? "No b." : nil }, ["x": "a"], "a"),
    Case("checked", .text("x").checked { $0 == "b" ? "No b." : nil }, ["x": "b"], nil),
    Case("checked", .text("x").checked { _ in "Never." }, ["x": 1], nil),
  ]

  @Test("A field reads a valid payload and reports a fault for any other", arguments: cases)
  func reading(_ row: Case) throws {
    do throws(Refusal) {
      #expect(try row.field.read(row.payload, ClientNetwork(host: ""), nil) == row.read)
    } catch {
      guard case .invalid(let faults) = error else { throw error }
      #expect(row.read == nil)
      // There is one fault for the member, even if two checks fail.
      #expect(faults.map(\.pointer) == ["/x"])
    }
  }

  @Test("Every accepted payload fits its schema, except for limits in bytes", arguments: cases)
  func schema(_ row: Case) {
    guard row.read != nil else { return }
    #expect(DocumentedSchema.faults(row.payload, row.field.payload) == [])
  }
}

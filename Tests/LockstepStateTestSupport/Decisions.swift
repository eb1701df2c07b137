import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepTime

/// An action and the expected decision of a reactor, as one row of a table.
struct Decision: CustomTestStringConvertible, Sendable {
  enum Outcome: Sendable, Equatable {
    /// These mutations, as the journal writes them.
    case facts(String)
    case refused(Refusal)
  }

  let action: String
  let payload: String
  let outcome: Outcome

  init(_ action: String, _ payload: String, _ outcome: Outcome) {
    self.action = action
    self.payload = payload
    self.outcome = outcome
  }

  var testDescription: String { "\(action) \(payload.prefix(60))" }

  static let nothing = Outcome.facts("[]")

  static func invalid(_ pointers: String...) -> Outcome {
    .refused(.invalid(pointers.map { FieldFault(pointer: $0, detail: "") }))
  }

  /// The decision of a module on an action, with the texts of refusals left out.
  static func outcome(
    of type: String,
    _ payload: String,
    asked module: UserModule,
    in state: UserState,
    registered: RegisteredDefaults = RegisteredDefaults(),
    now: Timestamp = Timestamp(millisecondsSince1970: 5_000)
  ) throws -> Outcome {
    do {
      let action = try #require(try module.read(type, try JSON(parsing: Array(payload.utf8))), "no such type")
      let context = ActionContext(state: state, registered: registered, now: now)
      let decided = try action.decide(context)
      var after = state
      _ = after.reduce(decided, in: action.collection, by: module.reducer, revision: 9)
      try module.quota?.check(state.size(of: action.collection), after.size(of: action.collection), of: module.name)
      return .facts(String(decoding: CollectionMutation.encoded(decided), as: UTF8.self))
    } catch let refusal as Refusal {
      return .refused(refusal.withoutWords)
    }
  }
}

extension Refusal {
  static let notFound = Refusal.notFound("")
  static let conflict = Refusal.conflict("")
  static let forbidden = Refusal.forbidden("")
  static let quotaExceeded = Refusal.quotaExceeded("")

  /// The refusal without its text. This also checks that there is a text.
  var withoutWords: Refusal {
    switch self {
    case .invalid(let faults):
      #expect(faults.allSatisfy { !$0.detail.isEmpty })
      return .invalid(faults.map { FieldFault(pointer: $0.pointer, detail: "") })
    case .notFound(let words):
      #expect(!words.isEmpty)
      return .notFound
    case .forbidden(let words):
      #expect(!words.isEmpty)
      return .forbidden
    case .conflict(let words):
      #expect(!words.isEmpty)
      return .conflict
    case .quotaExceeded(let words):
      #expect(!words.isEmpty)
      return .quotaExceeded
    }
  }
}

extension UserState {
  /// A state with one collection.
  init(_ name: CollectionName, _ state: CollectionState) {
    self.init()
    revision = state.revision
    collections[name] = state
  }
}

extension MapState {
  /// A map of these JSON texts at revision 1.
  init(texts: [String: String]) {
    let values = texts.map { (ElementKey($0.key), MapValue(encoded: Array($0.value.utf8), revision: 1)) }
    self.init(Dictionary(uniqueKeysWithValues: values), revision: 1)
  }
}

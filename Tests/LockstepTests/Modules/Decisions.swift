import LockstepJSON
import Testing

@testable import LockstepCollections
@testable import LockstepTime

/// What a reactor is to make of an action, as one row of a table.
struct Decision: CustomTestStringConvertible, Sendable {
  enum Outcome: Sendable, Equatable {
    /// These facts, as the journal tells them.
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

  /// What came of asking a module, with what refusals say left out.
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
      let surroundings = UserAction.Surroundings(state: state, registered: registered, now: now)
      let decided = try action.decide(surroundings)
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
  static let quotaExceeded = Refusal.quotaExceeded("")

  /// Which refusal it is, whatever it says; that it says something is checked here.
  var withoutWords: Refusal {
    switch self {
    case .invalid(let faults):
      #expect(faults.allSatisfy { !$0.detail.isEmpty })
      return .invalid(faults.map { FieldFault(pointer: $0.pointer, detail: "") })
    case .notFound(let words):
      #expect(!words.isEmpty)
      return .notFound
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
  /// A state of one collection.
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

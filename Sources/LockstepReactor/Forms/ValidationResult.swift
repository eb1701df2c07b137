/// What is known about an input.
public enum ValidationResult: Sendable, Hashable {
  /// It may be used; the message says so, and may be empty.
  case ok(message: String)
  /// Nothing was put in yet. Not valid, and no reason to complain.
  case empty
  /// An answer is on its way. Not valid until it is there.
  case validating
  /// It may not be used; the message says why.
  case failed(message: String)

  /// Valid, with nothing to say about it.
  public static let ok = ValidationResult.ok(message: "")

  /// Whether the input may be used.
  public var isValid: Bool {
    if case .ok = self { return true }
    return false
  }

  /// What to tell a person; empty when there is nothing to tell.
  public var message: String {
    switch self {
    case .ok(let message), .failed(let message): message
    case .empty, .validating: ""
    }
  }
}

extension Sequence<ValidationResult> {
  /// The one enabled flag of a form: every input is valid.
  public var areAllValid: Bool {
    allSatisfy(\.isValid)
  }
}

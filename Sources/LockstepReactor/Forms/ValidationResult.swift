/// The result of checking an input.
public enum ValidationResult: Sendable, Hashable {
  /// The input is valid. The message may be empty.
  case ok(message: String)
  /// There is no input yet. The result is not valid, but not an error to show. The message may ask for the input.
  case empty(message: String)
  /// The check is running, so the input is not valid yet. The message may say so.
  case validating(message: String)
  /// The input is not valid. The message says why.
  case failed(message: String)

  /// Valid, without a message.
  public static let ok = ValidationResult.ok(message: "")

  /// No input yet, without a message.
  public static let empty = ValidationResult.empty(message: "")

  /// The check is running, without a message.
  public static let validating = ValidationResult.validating(message: "")

  /// Whether the input is valid.
  public var isValid: Bool {
    if case .ok = self { return true }
    return false
  }

  /// The message for the user; may be empty.
  public var message: String {
    switch self {
    case .ok(let message), .empty(let message), .validating(let message), .failed(let message): message
    }
  }
}

extension Sequence<ValidationResult> {
  /// Whether every input is valid, so that the form can be sent.
  public var areAllValid: Bool {
    allSatisfy(\.isValid)
  }
}

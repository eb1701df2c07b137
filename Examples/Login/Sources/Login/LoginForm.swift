import LockstepReactor

/// The fields of a login, and the rules for them.
struct LoginForm: Sendable, Equatable {
  var email = ""
  var password = ""

  static let email = Validator<String>(normalise: { $0.trimmingWhitespace().lowercased() }) { text in
    if text.isEmpty { return .empty(message: "Enter your address.") }
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let isAddress = parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
    return isAddress ? .ok : .failed(message: "This is not an address.")
  }

  /// A login has no rule for the length: an old account may have a short password. A form for a new password may have
  /// one.
  static let password = Validator<String> { $0.isEmpty ? .empty(message: "Enter your password.") : .ok }

  var emailResult: ValidationResult { Self.email.validate(email) }
  var passwordResult: ValidationResult { Self.password.validate(password) }
  var isValid: Bool { [emailResult, passwordResult].areAllValid }

  /// The form as the server gets it.
  var normalised: LoginForm { LoginForm(email: Self.email.normalise(email), password: password) }
}

/// A session, as the server returns it.
struct Session: Sendable, Equatable {
  let token: String
}

/// Sends the form to the server. The app passes a function that uses the network, and a test one that does not.
typealias LoginRequest = @Sendable (LoginForm) async throws -> Session

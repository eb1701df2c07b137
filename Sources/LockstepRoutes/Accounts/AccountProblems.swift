import LockstepAccounts
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

extension AccountsError {
  /// Whether the refusal is stored for the idempotency key, because a retry would be refused again.
  var isLasting: Bool {
    switch self {
    case .wrongPassword, .noSuchSession, .noSuchUser, .noSuchToken, .changed, .addressTaken, .identityTaken,
      .tokenNameTaken, .noPassword, .hasCredentials, .noSuchWebhook, .noSuchDelivery, .missing:
      true
    default: false
    }
  }

  /// The response to a write with this key, and the response that is recorded for it. Nil if a
  /// retry may have another result.
  package func lastingRefusal(of key: AccountsLedger.Key?) -> (StoredResponse, recorded: StoredResponse)? {
    guard let key, isLasting else { return nil }
    let recorded = Problem(self, recordedFor: key.owner)
    return (StoredResponse(Problem(self).response), recorded: StoredResponse(recorded.response))
  }
}

extension AccountsError {
  /// A sentence for users that says more than the title of the problem's kind; nil if that title is enough.
  fileprivate var title: String? {
    switch self {
    case .addressTaken: "There is an account with this e-mail address already"
    case .identityTaken: "There is an account already. Please log in"
    case .registrationClosed: "New accounts cannot be made here"
    case .wrongCredentials: "The e-mail address or the password is wrong"
    case .wrongPassword: "The password is wrong"
    case .noPassword: "The account has no password"
    case .hasCredentials: "The account has a way to log in already"
    case .disabled: "The account is disabled"
    case .noSuchLink: "The link does not work. It was used already, or it has expired"
    default: nil
    }
  }
}

extension Problem {
  /// The problem for an error of a route about accounts; nil for an internal error.
  package init?(accounts error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as AccountsError: self.init(error)
    default:
      guard let problem = Problem.describing(error) else { return nil }
      self = problem
    }
  }

  /// The problem that is stored for a key of this owner. Only a user's stored responses may contain
  /// personal data, because they are erased with the user.
  package init(_ error: AccountsError, recordedFor owner: IdempotencyKeyOwner) {
    switch (error, owner) {
    case (.changed, .outsider): self.init(.preconditionFailed, detail: error.description)
    default: self.init(error)
    }
  }

  package init(_ error: AccountsError) {
    self.init(of: error)
    if let title = error.title { self.title = title }
  }

  private init(of error: AccountsError) {
    let detail = error.description
    switch error {
    case .invalid(let faults):
      self.init(.validationFailed, errors: faults.map { Fault(pointer: $0.pointer, detail: $0.detail) })
    case .addressTaken, .identityTaken: self.init(.conflict, detail: detail)
    // Not 401, because clients discard their token after a 401, and the token is valid.
    case .registrationClosed, .disabled, .wrongPassword, .refusedToken: self.init(.forbidden, detail: detail)
    case .invalidToken, .issuedBeforeEnd:
      self = .unauthorized(true)
      self.detail = detail
    case .wrongCredentials:
      self.init(.unauthorized, detail: detail)
      fields.append(.wwwAuthenticate, "Bearer")
    case .sessionEnded: self = Problem.unauthorized(true)
    case .tokenEnded: self = Problem.serviceTokenEnded
    case .noSuchSession, .noSuchUser, .noSuchToken, .noSuchWebhook, .noSuchDelivery, .noSuchLink, .noMail:
      self.init(.notFound, detail: detail)
    case .missing: self.init(.preconditionFailed, detail: detail, members: [("current", .null)])
    case .tokenNameTaken, .tooManyTokens, .tooManyWebhooks, .noPassword, .hasCredentials:
      self.init(.conflict, detail: detail)
    case .changed(let current, let tag):
      self.init(.preconditionFailed, detail: detail, members: [("current", current), ("cursor", .string(tag))])
      fields.append(.etag, "\"\(tag)\"")
    case .tooManyAttempts(let seconds):
      self.init(.tooManyRequests, detail: detail)
      fields.append(.retryAfter, "\(seconds)")
    case .keysUnavailable(_, let seconds):
      self = .overloaded(detail)
      fields = fields.replacing(.retryAfter, "\(seconds)")
    case .overloaded, .outOfMemory, .libraryMissing, .userIsBeingErased: self = .overloaded(detail)
    case .keyInUse: self = .keyInUse
    case .store: self = .overloaded("The store cannot be used at present. The server's log has the reason.")
    }
  }
}

import LockstepAccounts
import LockstepHTTP

extension Problem {
  /// What a client is told of an error of a route about accounts; nil for one that is a fault of ours.
  init?(accounts error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as AccountsError: self.init(error)
    default:
      guard let problem = Problem.telling(of: error) else { return nil }
      self = problem
    }
  }

  /// What a client is told of an error with accounts.
  init(_ error: AccountsError) {
    let detail = error.description
    switch error {
    case .invalid(let faults):
      self.init(.validationFailed, errors: faults.map { Fault(pointer: $0.pointer, detail: $0.detail) })
    case .addressTaken: self.init(.conflict, detail: detail)
    // The token is good, so it isn't 401: a client would throw it away.
    case .registrationClosed, .disabled, .wrongPassword: self.init(.forbidden, detail: detail)
    case .wrongCredentials:
      self.init(.unauthorized, detail: detail)
      fields.append(.wwwAuthenticate, "Bearer")
    case .sessionEnded: self = Problem.unauthorized(true)
    case .noSuchSession: self.init(.notFound, detail: detail)
    case .changed(let current, let tag):
      self.init(.preconditionFailed, detail: detail, members: [("current", current), ("cursor", .string(tag))])
      fields.append(.etag, "\"\(tag)\"")
    case .tooManyAttempts(let seconds):
      self.init(.tooManyRequests, detail: detail)
      fields.append(.retryAfter, "\(seconds)")
    case .overloaded, .outOfMemory: self = .overloaded(detail)
    case .store: self = .overloaded("The store can't be used at the moment. The server's log has the reason.")
    }
  }
}

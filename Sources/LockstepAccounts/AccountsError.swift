import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepThreading

/// Why a change to an account failed. Nothing was changed.
package enum AccountsError: Error, Sendable, Equatable {
  case invalid([FieldFault])
  case addressTaken
  /// The identity belongs to another user.
  case identityTaken
  case registrationClosed
  /// The e-mail address or the password is wrong. The client must not learn which of them.
  case wrongCredentials
  case wrongPassword
  /// The token of another issuer is not valid, for this reason.
  case invalidToken(String)
  /// The same for a token that is not the request's own.
  case refusedToken(String)
  /// The token of another issuer was issued before its session was ended.
  case issuedBeforeEnd
  /// The keys of an issuer were never fetched, because it cannot be reached. Try again in this many
  /// seconds, at least 1.
  case keysUnavailable(issuer: String, retryAfter: Int)
  /// The account has no password, so none can be changed, and none can confirm a change.
  case noPassword(hasIdentity: Bool)
  /// The account has a password or an identity already.
  case hasCredentials
  /// The account is disabled. Only a client with the right password or a valid token learns this.
  case disabled
  /// The session has ended, or its user was erased.
  case sessionEnded
  case noSuchSession
  /// The token of a link in a mail is unknown, was used, or has expired.
  case noSuchLink
  /// The server sends no mails of this kind.
  case noMail(WebhookEventType)
  case noSuchUser
  case noSuchToken
  /// The service token of the request was deleted.
  case tokenEnded
  /// Another service token has the name.
  case tokenNameTaken
  case tooManyTokens
  case noSuchWebhook
  case noSuchDelivery
  case tooManyWebhooks
  /// A precondition needs a resource that does not exist.
  case missing
  /// A precondition of the request is not met. `current` is the present document, `tag` its ETag.
  case changed(current: JSON, tag: String)
  /// Too many wrong passwords or sign-ups. Wait this many seconds, at least 1.
  case tooManyAttempts(retryAfter: Int)
  case overloaded
  /// Another server makes the same change at present, or has just made it.
  case keyInUse
  /// The user of an identity is erased at this moment.
  case userIsBeingErased
  case store(StoreError)
  case outOfMemory
  /// A library that verifies imported passwords is missing.
  case libraryMissing(String)

  package init(thrown error: any Error) {
    self =
      switch error {
      case let error as AccountsError: error
      case is PoolOverloadedError: .overloaded
      case is ServiceTokenEndedError: .tokenEnded
      case is IdempotencyKeyInUseError: .keyInUse
      default: .store(StoreError(thrown: error))
      }
  }

  /// Runs `body`, and converts its errors.
  nonisolated(nonsending) static func converting<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws(AccountsError) -> Value {
    do { return try await body() } catch { throw AccountsError(thrown: error) }
  }
}

extension AccountsError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .invalid(let faults): faults.map { "\($0.pointer): \($0.detail)" }.joined(separator: " ")
    case .addressTaken: "There is an account with this e-mail address already."
    case .identityTaken: "There is an account with this identity already. Log in with it instead."
    case .registrationClosed: "This server accepts no new accounts. Ask its operator for an account."
    case .wrongCredentials: "The e-mail address or the password is wrong."
    case .invalidToken(let reason), .refusedToken(let reason): reason
    case .issuedBeforeEnd: "The session of this token was ended. Get a new token from the issuer."
    case .keysUnavailable(let issuer, _):
      "The server cannot verify tokens of \(issuer) yet, because it could not fetch the keys. Try again later."
    case .wrongPassword: "The password is wrong."
    case .noPassword(hasIdentity: true):
      "The account has no password. Change the password or the address at the issuer of your tokens."
    case .noPassword(hasIdentity: false):
      "The account has no password. Set an address and a password with PUT /v1/me/credentials."
    case .hasCredentials: "The account has a password or an identity already. Credentials can be set only once."
    case .disabled: "The account is disabled. Ask the server's operator."
    case .sessionEnded: "The session has ended. Log in again."
    case .noSuchSession: "There is no such session."
    case .noSuchLink: "The link does not work. It was used already, or it has expired. Ask for another mail."
    case .noMail(let type):
      "This server sends no such mails. Its operator can set --smtp, or add a webhook for \(type.rawValue)."
    case .noSuchUser: "There is no such user."
    case .noSuchToken: "There is no such service token."
    case .tokenEnded: "The service token was deleted."
    case .tokenNameTaken: "There is a service token with this name already. Choose another name."
    case .tooManyTokens:
      "There are \(ServiceTokens.most) service tokens already, which is the limit. Delete those that are not in use."
    case .noSuchWebhook: "There is no such webhook."
    case .noSuchDelivery:
      "There is no such delivery. The server keeps queued deliveries, and the last \(DeliveryRecords.kept) delivered and "
        + "\(DeliveryRecords.kept) failed ones of each webhook."
    case .tooManyWebhooks:
      "There are \(WebhookRecords.most) webhooks already, which is the limit. Delete one that is not in use."
    case .missing: "The precondition of the request is false, because there is no such resource."
    case .changed: "The precondition of the request is false for the present ETag. Read the resource again."
    case .tooManyAttempts(let seconds): "Too many attempts. Try again in \(seconds) seconds."
    case .overloaded: "The server has too much work. Try again in a moment."
    case .userIsBeingErased: "The user is being erased. Try again in a moment."
    case .keyInUse: "A request with this idempotency key has not finished."
    case .store(let error): error.description
    case .libraryMissing(let reason): "The server \(reason). Ask its operator to install the library."
    case .outOfMemory: "There is not enough memory to hash a password. Give the server more memory."
    }
  }
}

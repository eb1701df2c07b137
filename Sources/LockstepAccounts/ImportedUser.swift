import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepTime

/// A user of another system.
package struct ImportedUser: Sendable {
  package let address: EmailAddress
  /// The password hash that the other system made; nil if there is none.
  package let passwordHash: PasswordHash?
  package var isEmailVerified = false
  /// Nil: the time of the import.
  package var createdAt: Timestamp?
  package var isDisabled = false

  package init(_ address: EmailAddress, passwordHash: PasswordHash?) {
    (self.address, self.passwordHash) = (address, passwordHash)
  }

  /// Reads what `json` writes. Nil if it cannot be read.
  package init?(_ json: JSON) {
    guard let address = try? json["email"]?.stringValue.map({ try EmailAddress($0) }) else { return nil }
    self.init(address, passwordHash: json["passwordHash"]?.stringValue.map { PasswordHash($0) })
    isEmailVerified = json["emailVerified"]?.boolValue ?? false
    createdAt = json["createdAt"]?.stringValue.flatMap { Timestamp($0) }
    isDisabled = json["disabled"]?.boolValue ?? false
  }

  package var json: JSON {
    [
      "email": .string(address.text), "passwordHash": passwordHash.map { .string($0.text) } ?? .null,
      "emailVerified": .bool(isEmailVerified), "createdAt": createdAt.map { .string("\($0)") } ?? .null,
      "disabled": .bool(isDisabled),
    ]
  }
}

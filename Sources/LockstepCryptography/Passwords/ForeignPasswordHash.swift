import CLockstepSodium

/// A password hash that another system made. Its users log in here with their old password.
///
/// `text` has all parameters, so that it can be stored and parsed again. docs/identity.md lists the
/// forms.
package struct ForeignPasswordHash: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  /// One form for each algorithm, in ASCII: all spellings of a hash give the same text.
  package var text: String { scheme.text }

  private let scheme: any PasswordScheme

  /// Reads any of the supported forms. Refuses parameters that would take more than 64 MiB of
  /// memory or about a second of CPU time for each login.
  package init(_ text: String) throws(ForeignPasswordHashError) {
    scheme = try PasswordSchemeReader(text).scheme()
  }

  /// Whether the password matches. Takes long, on purpose, so do not call it on an event loop. The
  /// hashes are compared in constant time.
  ///
  /// Throws if memory is short, or if the library for this algorithm is missing.
  package func matches(_ password: UnsafeRawBufferPointer) throws(CryptographyError) -> Bool {
    try scheme.matches(password)
  }

  /// Loads the library that `matches` needs. An import calls it, so that it fails before the first
  /// login does.
  package func loadLibrary() throws(CryptographyError) { try scheme.loadLibrary() }

  package static func == (left: ForeignPasswordHash, right: ForeignPasswordHash) -> Bool { left.text == right.text }

  /// Only the algorithm, because the hash is secret.
  package var description: String { "a password hash of \(scheme.name)" }

  package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An algorithm with all its parameters, the salt and the hash.
protocol PasswordScheme: Sendable {
  var name: String { get }
  var text: String { get }
  func matches(_ password: UnsafeRawBufferPointer) throws(CryptographyError) -> Bool
  func loadLibrary() throws(CryptographyError)
}

/// Overwrites a copy of a password with zeros.
func wipe(_ bytes: inout [some FixedWidthInteger]) {
  bytes.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) }
}

/// Why a password hash cannot be imported.
package enum ForeignPasswordHashError: Error, Sendable, Equatable, CustomStringConvertible {
  case unknownForm
  /// The text looks like a form, but `fault` is wrong. `fault` completes a sentence about the hash.
  case malformed(form: String, fault: String)
  case tooCostly(form: String, fault: String)

  package var description: String {
    switch self {
    case .unknownForm:
      "The password hash has no form that the server knows: bcrypt, PBKDF2, scrypt, Firebase's scrypt or Argon2id. "
        + "docs/identity.md shows an example of each."
    case .malformed(let form, let fault): "The password hash looks like \(form), but \(fault)."
    case .tooCostly(let form, let fault):
      "The password hash of \(form) takes too much work for each login: \(fault). "
        + "Import the user without passwordHash, and set a password with `lockstep user reset-password`."
    }
  }
}

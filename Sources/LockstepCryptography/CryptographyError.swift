/// A library is missing, or memory ran out.
package enum CryptographyError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file cannot be used. `package` is Debian's package that has it.
  case libraryMissing(file: String, package: String, reason: String)
  case outOfMemory

  package var description: String {
    switch self {
    case .libraryMissing(let file, let package, let reason):
      "cannot use \(file) (Debian's package \(package)): \(reason)"
    case .outOfMemory: "there is not enough memory to check a password"
    }
  }
}

/// A module can't be served as it's declared: a mistake in its code, told when the server starts.
public struct InvalidModuleError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Which module, what is wrong with it, and what would be right.
  public let description: String

  package init(_ module: String, _ reason: String) {
    description = "The module “\(module)” can't be served: \(reason)"
  }
}

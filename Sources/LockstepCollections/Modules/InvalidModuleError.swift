/// The declaration of a module is invalid. The server throws this when it starts.
public struct InvalidModuleError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The module's name, the fault, and how to correct it.
  public let description: String

  package init(_ module: String, _ reason: String) {
    description = "The module “\(module)” cannot be served: \(reason)"
  }
}

/// The declaration of a screen is invalid. The server throws this when it starts.
public struct InvalidScreenError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The screen's name, the fault, and how to correct it.
  public let description: String

  package init(_ screen: String, _ reason: String) {
    description = "The screen “\(screen)” cannot be served: \(reason)"
  }
}

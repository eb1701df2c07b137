import LockstepHTTP
import LockstepReactor

/// A link to a screen. A client opens the screen with `POST` to `href`, without a body.
public struct ScreenLink: Presentable, Equatable {
  /// The name of the screen.
  public let name: String
  /// The arguments, by name.
  public let arguments: [String: String]

  /// A link to a screen with these arguments.
  public init(_ name: String, _ arguments: [String: String] = [:]) {
    self.name = name
    self.arguments = arguments
  }

  /// The path and the query, for example `/v1/reactors/photoDetail?photoId=7`.
  public var href: String {
    let query = arguments.sorted { $0.key < $1.key }.map {
      "\(PercentEncoding.text($0.key))=\(PercentEncoding.text($0.value))"
    }
    let path = "/v1/reactors/\(name)"
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  /// The same as `href`.
  public func present() -> String { href }
}

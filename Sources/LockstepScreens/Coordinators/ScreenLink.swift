import LockstepHTTP
import LockstepReactor

/// A link to a screen: a client opens it with `POST` to its address. A coordinator may link to any
/// screen.
package struct ScreenLink: Presentable, Equatable {
  let name: String
  let arguments: [String: String]

  init(_ name: String, _ arguments: [String: String] = [:]) {
    self.name = name
    self.arguments = arguments
  }

  package var href: String {
    let query = arguments.sorted { $0.key < $1.key }.map {
      "\(PercentEncoding.text($0.key))=\(PercentEncoding.text($0.value))"
    }
    let path = "/v1/reactors/\(name)"
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  /// On a server, a link is presented as its address.
  package func present() -> String { href }
}

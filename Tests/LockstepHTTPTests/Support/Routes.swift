@testable import LockstepHTTP

extension Route {
  /// A route whose handler the test never calls.
  init(_ method: Method = .get, _ pattern: String) {
    self.init(method, pattern, summary: "") { _ in Response(status: .ok) }
  }

  init(_ pattern: String) {
    self.init(.get, pattern)
  }
}

extension Router {
  /// Returns the pattern of the route for a target, with its parameters, or nil if there is none.
  func found(_ target: String, _ method: String = "GET") throws -> String? {
    switch try match(head("\(method) \(target) HTTP/1.1", fields: [])) {
    case .notFound:
      return nil
    case .options(let allow), .methodNotAllowed(let allow), .notImplemented(let allow):
      throw Unexpected(description: "found only \(allow)")
    case .route(let index, let parameters):
      let pattern = routes[index].pattern
      let names = pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
      return ([pattern] + names.map { "\($0)=\(parameters[$0] ?? "missing")" }).joined(separator: " ")
    }
  }
}

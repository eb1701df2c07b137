import LockstepHTTP
import Synchronization

/// Refuses query parameters that a route does not declare. Otherwise a misspelled parameter would
/// be ignored, and the client would not notice.
///
/// The names come from the descriptions of the routes, which are made when they are first needed.
final class DeclaredQueries: Sendable {
  private static let longestName = 64
  private static let mostNames = 8

  private let routes: [Route]
  /// The parameters that a route takes, by the route's index. Nil if it takes any parameter.
  private let names: Mutex<[Int: [String]?]>

  init(_ routes: [Route]) {
    self.routes = routes
    names = Mutex([:])
  }

  /// Throws `invalid-parameter` if the query of a route below `/v1` has parameters that the route
  /// does not take, or names that cannot be decoded. The route itself refuses values that cannot be
  /// decoded.
  func check(_ head: RequestHead, of route: Int) throws(Problem) {
    guard head.hasQuery, let taken = names(of: route) else { return }
    // Without escapes in the names, this decides without decoding. The values are decoded by the
    // route that takes them.
    guard !QueryParameters.names(in: head.queryBytes, areAllIn: taken) else { return }
    var unknown: [String] = []
    for name in try QueryParameters(head.queryBytes).names where !taken.contains(name) && !unknown.contains(name) {
      unknown.append(name)
    }
    guard !unknown.isEmpty else { return }
    let shown = unknown.prefix(Self.mostNames).map { "“\($0.prefix(Self.longestName))”" }.joined(separator: ", ")
    let takes = taken.isEmpty ? "no query parameters" : taken.joined(separator: ", ")
    throw Problem(.invalidParameter, detail: "This route does not take \(shown). It takes \(takes).")
  }

  private func names(of route: Int) -> [String]? {
    names.withLock { names in
      if let known = names[route] { return known }
      let description = routes[route].pattern.hasPrefix("/v1/") ? routes[route].description : nil
      let declared = description?.parameters.filter { $0.place == .query }.map(\.name)
      names[route] = .some(declared)
      return declared
    }
  }
}

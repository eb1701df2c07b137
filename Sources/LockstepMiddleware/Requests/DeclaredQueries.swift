import LockstepHTTP
import LockstepJSON
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
    try Self.check(head.queryBytes, against: taken)
  }

  static func check(_ query: ArraySlice<UInt8>, against taken: [String]) throws(Problem) {
    // Without escapes in the names, this decides without decoding. The values are decoded by the
    // route that takes them.
    guard !QueryParameters.names(in: query, areAllIn: taken) else { return }
    var unknown: [String] = []
    // Stops at the last name that is shown, so that the time does not grow with the square of the names.
    for name in try QueryParameters(query).names
    where !taken.containsBytes(of: name) && !unknown.containsBytes(of: name) {
      unknown.append(name)
      if unknown.count == mostNames { break }
    }
    guard !unknown.isEmpty else { return }
    let shown = unknown.map { "“\($0.prefix(longestName))”" }.joined(separator: ", ")
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

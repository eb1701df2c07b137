/// Finds the route for a request, in a table that is data: it can be listed and described as well as asked.
///
/// The table is a tree of path parts. A lookup goes down one level a part and hashes the part, so what it costs depends
/// on the path's length and not on how many routes there are. A literal part wins over a `{parameter}`.
public struct Router: Sendable {
  /// What a lookup gave.
  public enum Match: Sendable {
    /// The route's index in `routes`, and its parameters. `HEAD` finds the `GET` route.
    case route(Int, PathParameters)
    /// `OPTIONS` of a path that is there, or of the server as a whole; `allow` lists the methods.
    case options(allow: String)
    /// The path is there but not for this method.
    case methodNotAllowed(allow: String)
    /// Nothing is at this path.
    case notFound
  }

  /// A table that can't be: says which routes are wrong and why.
  public struct TableError: Error, CustomStringConvertible, Equatable {
    /// What is wrong.
    public let description: String
  }

  private struct Node: Sendable {
    var literals: [(part: [UInt8], node: Int)] = []
    var table = SegmentTable([])
    var parameter: Int?
    var routes: [(method: Method, index: Int, names: [String])] = []
    var allow = ""
  }

  /// All routes, in the order they were given.
  public let routes: [Route]
  private var nodes = [Node()]
  private let serverAllow: String

  /// A table of these routes. Throws when two have the same method and path, or a pattern is malformed.
  public init(_ routes: [Route]) throws(TableError) {
    self.routes = routes
    serverAllow = Self.allow(routes.map(\.method))
    for index in routes.indices { try insert(index) }
    for index in nodes.indices {
      nodes[index].table = SegmentTable(nodes[index].literals)
      nodes[index].allow = Self.allow(nodes[index].routes.map(\.method))
    }
  }

  /// What to do with a request. Throws `invalid-parameter` when the path can't be decoded.
  public func match(_ head: RequestHead) throws(Problem) -> Match {
    guard head.targetForm == .path else {
      return head.targetForm == .server ? .options(allow: serverAllow) : .methodNotAllowed(allow: serverAllow)
    }
    let segments = try PathSegments(of: head)
    guard let found = node(for: segments, from: 0, depth: 0) else { return .notFound }
    guard let (index, names) = route(at: nodes[found], for: head.method) else {
      let allow = nodes[found].allow
      return head.method == .options ? .options(allow: allow) : .methodNotAllowed(allow: allow)
    }
    return .route(index, try parameters(names, of: routes[index].pattern, in: segments))
  }

  private func node(for segments: PathSegments, from index: Int, depth: Int) -> Int? {
    let node = nodes[index]
    guard depth < segments.places.count else { return node.routes.isEmpty ? nil : index }
    if let next = segments.withBytes(of: depth, { node.table.find($0) }),
      let found = self.node(for: segments, from: next, depth: depth + 1)
    {
      return found
    }
    guard let next = node.parameter, !segments.places[depth].isEmpty else { return nil }
    return self.node(for: segments, from: next, depth: depth + 1)
  }

  private func route(at node: Node, for method: Method) -> (index: Int, names: [String])? {
    if let entry = node.routes.first(where: { $0.method == method }) { return (entry.index, entry.names) }
    guard method == .head, let entry = node.routes.first(where: { $0.method == .get }) else { return nil }
    return (entry.index, entry.names)
  }

  private func parameters(
    _ names: [String],
    of pattern: String,
    in segments: PathSegments
  ) throws(Problem) -> PathParameters {
    guard !names.isEmpty else { return PathParameters() }
    var values: [(name: String, value: String)] = []
    for (depth, part) in Self.parts(of: pattern).enumerated() {
      guard let name = Self.parameterName(part) else { continue }
      values.append((name, try segments.text(of: depth)))
    }
    return PathParameters(values)
  }

  // MARK: Building

  private mutating func insert(_ index: Int) throws(TableError) {
    let route = routes[index]
    guard route.pattern.hasPrefix("/") else {
      throw TableError(description: "The pattern \(route.pattern) doesn't begin with a slash.")
    }
    var current = 0
    var names: [String] = []
    for part in Self.parts(of: route.pattern) {
      if let name = Self.parameterName(part) {
        guard !names.contains(name) else {
          throw TableError(description: "The pattern \(route.pattern) has two parameters of the name \(name).")
        }
        names.append(name)
        current = parameterChild(of: current)
      } else {
        guard !part.contains("{"), !part.contains("}") else {
          throw TableError(
            description: "The pattern \(route.pattern) has a part that is neither literal nor a whole {parameter}: "
              + "\(part)."
          )
        }
        current = literalChild(of: current, Array(part.utf8))
      }
    }
    guard !nodes[current].routes.contains(where: { $0.method == route.method }) else {
      throw TableError(description: "Two routes answer \(route.method.name) \(route.pattern).")
    }
    nodes[current].routes.append((route.method, index, names))
  }

  private mutating func parameterChild(of index: Int) -> Int {
    if let child = nodes[index].parameter { return child }
    nodes.append(Node())
    nodes[index].parameter = nodes.count - 1
    return nodes.count - 1
  }

  private mutating func literalChild(of index: Int, _ part: [UInt8]) -> Int {
    if let child = nodes[index].literals.first(where: { $0.part == part }) { return child.node }
    nodes.append(Node())
    nodes[index].literals.append((part, nodes.count - 1))
    return nodes.count - 1
  }

  private static func parts(of pattern: String) -> [Substring] {
    pattern == "/" ? [] : pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The name in `{name}`, or nil when the part isn't a parameter.
  private static func parameterName(_ part: Substring) -> String? {
    guard part.hasPrefix("{"), part.hasSuffix("}") else { return nil }
    let name = part.dropFirst().dropLast()
    return name.isEmpty || name.contains("{") || name.contains("}") ? nil : String(name)
  }

  private static func allow(_ methods: [Method]) -> String {
    Method.known.filter { method in
      methods.contains(method) || method == .options || (method == .head && methods.contains(.get))
    }
    .map(\.name).joined(separator: ", ")
  }
}

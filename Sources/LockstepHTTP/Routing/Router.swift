/// Finds the route of a request in a tree of path parts. The cost of a lookup depends on the length
/// of the path, not on the number of routes.
///
/// A literal part takes precedence over a `{parameter}`. If the literal has no route for the
/// method, the parameter's route gets the request, with the literal as the parameter's value.
package struct Router: Sendable {
  package enum Match: Sendable {
    /// The route's index in `routes`, and its parameters. `HEAD` finds the `GET` route.
    case route(Int, PathParameters)
    /// `OPTIONS` for a known path, or for the server as a whole; `allow` lists the methods.
    case options(allow: String)
    /// No route has this method; `allow` lists the methods that routes have.
    case notImplemented(allow: String)
    /// The path has routes, but none for this method.
    case methodNotAllowed(allow: String)
    case notFound
  }

  package struct TableError: Error, CustomStringConvertible, Equatable {
    /// The wrong routes and the reason.
    package let description: String
  }

  /// A route that ends at a node: its index, and the depths and names of its parameters.
  private struct Entry: Sendable {
    let index: Int
    let parameters: [(depth: Int, name: String)]
  }

  private struct Node: Sendable {
    var literals: [(part: [UInt8], node: Int)] = []
    var table = SegmentTable([])
    var parameter: Int?
    /// One entry for each method, by its ordinal.
    var entries = [Entry?](repeating: nil, count: Method.known.count + 1)
    var hasRoutes = false
    var allow = ""
  }

  /// In the order in which `init` got them.
  package let routes: [Route]
  private var nodes = [Node()]
  private let serverAllow: String

  /// Throws if two routes have the same method and path, or a pattern is malformed.
  package init(_ routes: [Route]) throws(TableError) {
    self.routes = routes
    serverAllow = Self.allow(routes.map(\.method))
    for index in routes.indices { try insert(index) }
    for index in nodes.indices { copyEntries(ofParameterIn: index) }
    for index in nodes.indices {
      nodes[index].table = SegmentTable(nodes[index].literals)
      nodes[index].allow = Self.allow(Method.known.filter { nodes[index].entries[$0.ordinal] != nil })
      let head = Method.head.ordinal
      nodes[index].entries[head] = nodes[index].entries[head] ?? nodes[index].entries[Method.get.ordinal]
    }
  }

  /// Finds the route of a request. Throws `invalid-parameter` if the path cannot be decoded.
  package func match(_ head: RequestHead) throws(Problem) -> Match {
    if case .other = head.method { return .notImplemented(allow: serverAllow) }
    // The target is `*`, which only OPTIONS may have. CONNECT was refused above.
    guard head.targetForm == .path else { return .options(allow: serverAllow) }
    let segments = try PathSegments(of: head)
    guard let found = node(for: segments, from: 0, depth: 0) else { return .notFound }
    guard let entry = nodes[found].entries[head.method.ordinal] else {
      let allow = nodes[found].allow
      return head.method == .options ? .options(allow: allow) : .methodNotAllowed(allow: allow)
    }
    let values = try entry.parameters.map { parameter throws(Problem) in
      (name: parameter.name, value: try segments.text(of: parameter.depth))
    }
    return .route(entry.index, PathParameters(values: values))
  }

  /// The beginning of a path that is part of this table, with `*` instead of the rest. The rest may be
  /// anything that a client has sent, such as a token.
  package func knownBeginning(of head: RequestHead) -> String {
    guard head.targetForm == .path else { return "*" }
    guard let segments = try? PathSegments(of: head) else { return "/*" }
    var (current, known) = (0, "")
    for depth in segments.places.indices {
      guard let next = segments.withBytes(of: depth, { nodes[current].table.find($0) }),
        let literal = nodes[current].literals.first(where: { $0.node == next })
      else { return known + "/*" }
      known += "/" + String(decoding: literal.part, as: UTF8.self)
      current = next
    }
    return known.isEmpty ? "/" : known
  }

  // Nodes are never copied here, because a copy would retain and release each of their arrays.
  private func node(for segments: PathSegments, from index: Int, depth: Int) -> Int? {
    guard depth < segments.places.count else { return nodes[index].hasRoutes ? index : nil }
    if let next = segments.withBytes(of: depth, { nodes[index].table.find($0) }),
      let found = node(for: segments, from: next, depth: depth + 1)
    {
      return found
    }
    guard let next = nodes[index].parameter, !segments.places[depth].isEmpty else { return nil }
    return node(for: segments, from: next, depth: depth + 1)
  }

  // MARK: Building

  private mutating func insert(_ index: Int) throws(TableError) {
    let route = routes[index]
    guard route.pattern.hasPrefix("/") else {
      throw TableError(description: "The pattern \(route.pattern) does not begin with a slash.")
    }
    var current = 0
    var parameters: [(depth: Int, name: String)] = []
    for (depth, part) in Self.parts(of: route.pattern).enumerated() {
      if let name = Self.parameterName(part) {
        guard !parameters.contains(where: { $0.name == name }) else {
          throw TableError(description: "The pattern \(route.pattern) has two parameters named \(name).")
        }
        parameters.append((depth, name))
        current = parameterChild(of: current)
      } else {
        guard !part.contains("{"), !part.contains("}") else {
          throw TableError(
            description: "The part \(part) of the pattern \(route.pattern) is neither a literal nor a {parameter}."
          )
        }
        current = literalChild(of: current, Array(part.utf8))
      }
    }
    guard route.method.ordinal < Method.known.count else {
      throw TableError(description: "No route can have the method \(route.method.name).")
    }
    guard nodes[current].entries[route.method.ordinal] == nil else {
      throw TableError(description: "Two routes have \(route.method.name) \(route.pattern).")
    }
    nodes[current].entries[route.method.ordinal] = Entry(index: index, parameters: parameters)
    nodes[current].hasRoutes = true
  }

  /// Copies the parameter's routes to the node's literals, for methods that the literals lack. So
  /// the id of `GET /lists/{id}` may be `actions`, although there is a `POST /lists/actions`.
  private mutating func copyEntries(ofParameterIn index: Int) {
    guard let parameter = nodes[index].parameter else { return }
    for literal in nodes[index].literals where nodes[literal.node].hasRoutes {
      for (method, entry) in nodes[parameter].entries.enumerated() where nodes[literal.node].entries[method] == nil {
        nodes[literal.node].entries[method] = entry
      }
    }
  }

  private mutating func parameterChild(of index: Int) -> Int {
    if let child = nodes[index].parameter { return child }
    nodes[index].parameter = nodes.count
    nodes.append(Node())
    return nodes.count - 1
  }

  private mutating func literalChild(of index: Int, _ part: [UInt8]) -> Int {
    if let child = nodes[index].literals.first(where: { $0.part == part }) { return child.node }
    nodes[index].literals.append((part, nodes.count))
    nodes.append(Node())
    return nodes.count - 1
  }

  private static func parts(of pattern: String) -> [Substring] {
    pattern == "/" ? [] : pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The name in `{name}`, or nil if the part is not a parameter.
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

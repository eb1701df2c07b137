/// Finds the route for a request, in a table that is data: it can be listed and described as well as asked.
///
/// The table is a tree of path parts. A lookup goes down one level a part and hashes the part, so what it costs depends
/// on the path's length and not on how many routes there are. A literal part wins over a `{parameter}`; a method that has no
/// route there is answered by the one with the parameter, which takes the literal as its value.
public struct Router: Sendable {
  /// What a lookup gave.
  public enum Match: Sendable {
    /// The route's index in `routes`, and its parameters. `HEAD` finds the `GET` route.
    case route(Int, PathParameters)
    /// `OPTIONS` of a path that is there, or of the server as a whole; `allow` lists the methods.
    case options(allow: String)
    /// No route can have this method; `allow` lists those that some have.
    case notImplemented(allow: String)
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

  /// A route that ends at a node: its index, and the depths and names of its parameters.
  private struct Entry: Sendable {
    let index: Int
    let parameters: [(depth: Int, name: String)]
  }

  private struct Node: Sendable {
    var literals: [(part: [UInt8], node: Int)] = []
    var table = SegmentTable([])
    var parameter: Int?
    /// By the method's ordinal.
    var entries = [Entry?](repeating: nil, count: Method.known.count + 1)
    var hasRoutes = false
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
    for index in nodes.indices { lendEntries(ofParameterIn: index) }
    for index in nodes.indices {
      nodes[index].table = SegmentTable(nodes[index].literals)
      nodes[index].allow = Self.allow(Method.known.filter { nodes[index].entries[$0.ordinal] != nil })
      let head = Method.head.ordinal
      nodes[index].entries[head] = nodes[index].entries[head] ?? nodes[index].entries[Method.get.ordinal]
    }
  }

  /// What to do with a request. Throws `invalid-parameter` when the path can't be decoded.
  public func match(_ head: RequestHead) throws(Problem) -> Match {
    if case .other = head.method { return .notImplemented(allow: serverAllow) }
    // The server as a whole is asked with OPTIONS alone, and what a proxy would connect to with CONNECT.
    guard head.targetForm == .path else { return .options(allow: serverAllow) }
    let segments = try PathSegments(of: head)
    guard let found = node(for: segments, from: 0, depth: 0) else { return .notFound }
    guard let entry = nodes[found].entries[head.method.ordinal] else {
      let allow = nodes[found].allow
      return head.method == .options ? .options(allow: allow) : .methodNotAllowed(allow: allow)
    }
    return .route(entry.index, try parameters(entry.parameters, in: segments))
  }

  // A node is never copied here: its arrays would each be retained and released for it.
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

  private func parameters(
    _ parameters: [(depth: Int, name: String)],
    in segments: PathSegments
  ) throws(Problem) -> PathParameters {
    guard !parameters.isEmpty else { return PathParameters() }
    var values: [(name: String, value: String)] = []
    for parameter in parameters { values.append((parameter.name, try segments.text(of: parameter.depth))) }
    return PathParameters(values)
  }

  // MARK: Building

  private mutating func insert(_ index: Int) throws(TableError) {
    let route = routes[index]
    guard route.pattern.hasPrefix("/") else {
      throw TableError(description: "The pattern \(route.pattern) doesn't begin with a slash.")
    }
    var current = 0
    var parameters: [(depth: Int, name: String)] = []
    for (depth, part) in Self.parts(of: route.pattern).enumerated() {
      if let name = Self.parameterName(part) {
        guard !parameters.contains(where: { $0.name == name }) else {
          throw TableError(description: "The pattern \(route.pattern) has two parameters of the name \(name).")
        }
        parameters.append((depth, name))
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
    guard route.method.ordinal < Method.known.count else {
      throw TableError(description: "A route can't answer \(route.method.name), which no client of ours sends.")
    }
    guard nodes[current].entries[route.method.ordinal] == nil else {
      throw TableError(description: "Two routes answer \(route.method.name) \(route.pattern).")
    }
    nodes[current].entries[route.method.ordinal] = Entry(index: index, parameters: parameters)
    nodes[current].hasRoutes = true
  }

  /// Has the literals of a node answer the methods that only its parameter does: `GET /lists/{id}` is for the id `actions` too,
  /// though there is a `POST /lists/actions`.
  private mutating func lendEntries(ofParameterIn index: Int) {
    guard let parameter = nodes[index].parameter else { return }
    for literal in nodes[index].literals where nodes[literal.node].hasRoutes {
      for (method, entry) in nodes[parameter].entries.enumerated() where nodes[literal.node].entries[method] == nil {
        nodes[literal.node].entries[method] = entry
      }
    }
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

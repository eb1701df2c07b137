import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepThreading

/// The routes of declared collections, as far as requests have needed them. Each event loop has its
/// own.
package final class DeclaredRoutes: Sendable {
  private let modules: Modules
  private let metrics: RequestMetrics
  /// Nil: there are no other nodes, which could declare collections.
  private let lease: NodeLease?
  private let make: @Sendable (DeclaredModule) -> [Route]
  private let tables = LockedState<[ExactText: (module: DeclaredModule, table: RouteTable)]>([:])

  package init(
    _ modules: Modules,
    _ metrics: RequestMetrics,
    lease: NodeLease? = nil,
    make: @escaping @Sendable (DeclaredModule) -> [Route]
  ) {
    (self.modules, self.metrics, self.lease, self.make) = (modules, metrics, lease, make)
  }

  /// The routes of the collection that a path names; nil if it names none.
  package func table(for head: RequestHead) throws(Problem) -> RouteTable? {
    guard let name = try Self.collection(in: head)?.exact else { return nil }
    // Without a lease, the memory does not know whether there is such a collection.
    if let lease, !lease.isHeld { throw .withoutLease }
    guard let module = modules.current.declared[name] else {
      tables.withLock { _ = $0.removeValue(forKey: name) }
      return nil
    }
    if let known = tables.withLock({ $0[name] }), known.module === module { return known.table }
    // The patterns of one collection never collide.
    guard let table = try? RouteTable(make(module), metrics, label: { Self.label(of: $0, module) }) else { return nil }
    tables.withLock { $0[name] = (module, table) }
    return table
  }

  /// All declared lists are counted together, and so are all maps. Otherwise the metrics would grow with
  /// the number of collections.
  private static func label(of pattern: String, _ module: DeclaredModule) -> String {
    let declaration = module.declaration
    var parts = pattern.split(separator: "/", omittingEmptySubsequences: false)
    if let index = parts.firstIndex(where: { $0 == declaration.name }) { parts[index] = "{\(declaration.kind)}" }
    return parts.joined(separator: "/")
  }

  /// The routes of all declared collections, for descriptions.
  package var all: [Route] {
    modules.current.declared.sorted { $0.key < $1.key }.flatMap { make($0.value) }
  }

  /// The part of a path that may be the name of a declared collection: `/v1/<name>`, or
  /// `/v1/admin/users/<id>/<name>`.
  private static func collection(in head: RequestHead) throws(Problem) -> String? {
    let parts = try PathSegments(of: head)
    guard parts.count >= 2, try parts.text(of: 0) == "v1" else { return nil }
    let first = try parts.text(of: 1)
    guard first == "admin" else { return first }
    guard parts.count >= 5, try parts.text(of: 2) == "users" else { return nil }
    return try parts.text(of: 4)
  }
}

extension ModuleRoutes {
  /// The routes of a declared collection.
  package static func routes(
    of declared: DeclaredModule,
    reading: StateReader,
    writing: StateWriter
  ) -> [Route] {
    let routes =
      switch declared.declaration.kind {
      case .list: ModuleRoutes(module: declared.module, reading: reading, writing: writing).routes
      case .map: ValuesRoutes(DeclaredMapPlace(declared), reading: reading, writing: writing).routes
      }
    return routes.map { $0.ofDeclaredCollection }
  }
}

extension Route {
  /// The same route of a collection that may be read only, and may be deleted at any time.
  fileprivate var ofDeclaredCollection: Route {
    guard description != nil else { return self }
    let describe = { @Sendable [self] in
      var described = description ?? RouteDescription("", part: "", responses: [])
      described.problems.insert(.notFound)
      if method != .get { described.problems.formUnion([.conflict, .forbidden]) }
      return described
    }
    return described(describe())
  }
}

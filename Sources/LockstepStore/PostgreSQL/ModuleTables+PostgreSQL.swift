import LockstepCollections
import LockstepJSON
import LockstepPostgreSQL

extension ModuleTables {
  /// Reads a user's present state in one round trip.
  func load(_ user: UserID, from session: PostgreSQLSession) throws -> UserState {
    var pipeline = PostgreSQLPipeline()
    let parts = [Self.readLists, Self.readMaps, Self.readRemovals, Self.readHead].map {
      pipeline.add($0, [.uuid(user.value)])
    }
    let results = try session.send(pipeline)
    var state = UserState()
    try add(results[parts[0]], of: .list, user, to: &state)
    try add(results[parts[1]], of: .map, user, to: &state)
    try results[parts[2]].forEach { row in
      let name = CollectionName(text: try row.text(at: 0))
      let revision = Revision(rawValue: try row.integer(at: 1))
      guard let kind = self[name.module]?.reducer.kind else { return RemovalRecords.add(name, revision, to: &state) }
      var empty = PackedTreeBuilder(kind)
      state.collections[name] = (state.collections[name] ?? empty.state()).changed(at: revision)
    }
    try results[parts[3]].forEach { row in
      state.revision = Revision(number: try row.integer(at: 0), eraNumber: try row.integer(at: 1))
      state.written = Journal.possible(try row.integer(at: 2))
    }
    return state
  }

  /// Adds the collections of a result with the columns collection, key, element and revision, in order.
  private func add(
    _ result: PostgreSQLResult,
    of kind: CollectionMutation.Kind,
    _ user: UserID,
    to state: inout UserState
  ) throws {
    var builder: PackedTreeBuilder?
    var (text, entry): ([UInt8], Entry?) = ([], nil)
    func finish() {
      guard var finished = builder.take() else { return }
      state.collections[CollectionName(text: String(decoding: text, as: UTF8.self))] = finished.state()
    }
    try result.forEach { row in
      let isSame = try row.withBytes(at: 0) { $0.hasBytes(text) }
      if builder == nil || !isSame {
        finish()
        let name = try row.text(at: 0)
        text = Array(name.utf8)
        entry = self[CollectionName(text: name).module]
        builder = entry?.reducer.kind == kind ? PackedTreeBuilder(kind) : nil
      }
      guard builder != nil else { return }
      let revision = Revision(rawValue: try row.integer(at: 3))
      try row.withBytes(at: 1) { key in
        try row.withBytes(at: 2) { element in
          guard entry?.canRead(element) != false else {
            throw ElementDamagedError(
              user: user,
              table: kind == .list ? "list_elements" : "map_values",
              collection: CollectionName(text: String(decoding: text, as: UTF8.self)),
              id: try row.text(at: 1)
            )
          }
          builder?.append(key, element, revision: revision)
        }
      }
    }
    finish()
  }

  /// The ranks of a user's lists that are damaged, by collection.
  func damagedRanks(of user: UserID, from session: PostgreSQLSession) throws -> [ExactText: [Int]] {
    var pipeline = PostgreSQLPipeline()
    let bounds = [ListRanks.bounds.lowerBound, ListRanks.bounds.upperBound].map { PostgreSQLValue.integer(Int64($0)) }
    pipeline.add(Self.readDamagedRanks, [.uuid(user.value)] + bounds)
    var ranks: [ExactText: [Int]] = [:]
    try session.send(pipeline)[0].forEach { row in
      ranks[try row.text(at: 0).exact, default: []].append(try row.integer(at: 1))
    }
    return ranks
  }

  private static let readLists = PostgreSQLStatement(
    "SELECT collection, id, element, revision FROM list_elements WHERE user_id = $1 ORDER BY collection, rank"
  )
  private static let readMaps = PostgreSQLStatement(
    "SELECT collection, key, value, revision FROM map_values WHERE user_id = $1 ORDER BY collection, key"
  )
  private static let readRemovals = PostgreSQLStatement("SELECT collection, revision FROM removals WHERE user_id = $1")
  private static let readHead = PostgreSQLStatement("SELECT number, era, written FROM heads WHERE user_id = $1")
  private static let readDamagedRanks = PostgreSQLStatement(
    """
    SELECT collection, rank FROM list_elements
    WHERE user_id = $1 AND rank NOT BETWEEN $2::bigint AND $3::bigint ORDER BY collection, rank
    """
  )
}

extension Span<UInt8> {
  fileprivate func hasBytes(_ bytes: [UInt8]) -> Bool {
    guard count == bytes.count else { return false }
    for index in indices where self[index] != bytes[index] { return false }
    return true
  }
}

import LockstepCollections
import LockstepJSON
import LockstepPostgreSQL

/// The stored ranks that a group needs for insertions and moves.
///
/// The ranks beside each place are read with one statement for the whole group. If elements must be
/// spread out, all ranks of the list are read.
final class StoredRanks {
  private struct List: Hashable {
    let user: UserID
    let collection: ExactText
  }

  private struct Rank {
    /// Nil if the element has no row.
    let value: Int?
  }

  private let session: PostgreSQLSession
  private var ranks: [List: [ElementKey: Rank]] = [:]
  private var complete: Set<List> = []

  /// Reads the ranks beside the places of a group's insertions and moves.
  init(for writes: [WriteSet], from session: PostgreSQLSession) throws {
    self.session = session
    var (users, collections, ids): ([PostgreSQLUUID], [String], [String]) = ([], [], [])
    for set in writes {
      for case (.list(let edits), let entry) in set.actions {
        let list = List(user: set.user, collection: entry.collection.description.exact)
        for edit in edits {
          guard let gap = edit.gap else { continue }
          for index in [gap.index - 1, gap.index] where gap.list.items.indices.contains(index) {
            let id = gap.list.items[index].id
            // Replaced below if the element has a row.
            if ranks[list]?[id] != nil { continue }
            ranks[list, default: [:]][id] = Rank(value: nil)
            users.append(set.user.value)
            collections.append(list.collection.text)
            ids.append(id.text)
          }
        }
      }
    }
    if users.isEmpty { return }
    var pipeline = PostgreSQLPipeline()
    pipeline.add(Self.read, [.uuids(users), .texts(collections), .texts(ids)])
    let result = try session.send(pipeline)[0]
    for index in 0..<result.rowCount {
      let row = result.row(index)
      let list = List(user: try row.userID(at: 0), collection: try row.text(at: 1).exact)
      ranks[list]?[ElementKey(try row.text(at: 2))] = Rank(value: try row.integer(at: 3))
    }
  }

  /// The stored rank of an element; nil if it has no row.
  func rank(of id: ElementKey, in collection: String, of user: UserID) throws -> Int? {
    let list = List(user: user, collection: collection.exact)
    if let known = ranks[list]?[id] { return known.value }
    if !complete.contains(list) {
      var pipeline = PostgreSQLPipeline()
      pipeline.add(Self.readAll, [.uuid(user.value), .text(collection)])
      let result = try session.send(pipeline)[0]
      var all: [ElementKey: Rank] = [:]
      for index in 0..<result.rowCount {
        let row = result.row(index)
        all[ElementKey(try row.text(at: 0))] = Rank(value: try row.integer(at: 1))
      }
      ranks[list] = all
      complete.insert(list)
    }
    return ranks[list]?[id]?.value
  }

  private static let read = PostgreSQLStatement(
    """
    SELECT v.u, v.c, v.k, e.rank FROM unnest($1::uuid[], $2::text[], $3::text[]) AS v (u, c, k)
    CROSS JOIN LATERAL (
      SELECT rank FROM list_elements WHERE user_id = v.u AND collection = v.c AND id = v.k OFFSET 0
    ) AS e
    """
  )
  private static let readAll = PostgreSQLStatement(
    "SELECT id, rank FROM list_elements WHERE user_id = $1 AND collection = $2"
  )
}

extension ListEdit {
  /// The place to which an element was inserted or moved.
  fileprivate var gap: ListGap? {
    switch self {
    case .inserted(_, _, let gap), .moved(_, let gap): gap
    case .modified, .removed, .cleared: nil
    }
  }
}

import LockstepCollections
import LockstepJSON
import LockstepPostgreSQL

/// The writes of a group's transactions, merged so that each table gets at most a few statements, and
/// each row is written once.
struct GroupWrites {
  private struct Collection: Hashable {
    let user: UserID
    let name: ExactText
  }

  private struct Row: Hashable {
    let collection: Collection
    let key: ElementKey
  }

  /// The change of a row of a list.
  private enum ListChange {
    /// The row is inserted, or replaced if it was removed before in the same group.
    case put(element: [UInt8], rank: Int, revision: Revision)
    /// Parts of an existing row change.
    case update(element: [UInt8]?, rank: Int?, revision: Revision?)
    case remove
  }

  private enum MapChange {
    case put(value: [UInt8], revision: Revision)
    case remove
  }

  private var lists: [Row: ListChange] = [:]
  private var maps: [Row: MapChange] = [:]
  /// The collections whose stored rows are all removed before anything else is written.
  private var clearedLists: Set<Collection> = []
  private var clearedMaps: Set<Collection> = []
  private var removals: [Collection: Revision] = [:]
  private var entries: [(user: UserID, entry: JournalEntry)] = []
  private var records: [UserID: [ExactText: ResponseRecord]] = [:]
  private var heads: [UserID: (revision: Revision, written: Int)] = [:]
  private var events: [WebhookEvent] = []
  /// Whether webhooks get an event for each revision.
  private let notifiesWebhooks: Bool

  init(notifiesWebhooks: Bool) { self.notifiesWebhooks = notifiesWebhooks }

  var isEmpty: Bool { entries.isEmpty && records.isEmpty }

  /// Adds the writes of a transaction.
  mutating func add(_ writes: WriteSet, _ ranks: StoredRanks) throws {
    for (edits, entry) in writes.actions {
      let collection = Collection(user: writes.user, name: entry.collection.description.exact)
      switch edits {
      case .list(let edits): for edit in edits { try apply(edit, to: collection, at: entry.revision, ranks) }
      case .map(let edits): for edit in edits { apply(edit, to: collection, at: entry.revision) }
      }
      if edits.needRemovalRecord { removals[collection] = entry.revision }
      entries.append((writes.user, entry))
      heads[writes.user] = (entry.revision, entry.written)
    }
    if notifiesWebhooks, let event = WebhookEvent(writes) { events.append(event) }
    if let record = writes.record { records[writes.user, default: [:]][record.key.key.exact] = record }
  }

  // MARK: Merging

  private mutating func apply(
    _ edit: ListEdit,
    to collection: Collection,
    at revision: Revision,
    _ book: StoredRanks
  ) throws {
    switch edit {
    case .inserted(let id, let item, let gap):
      let rank = try rank(in: gap, of: collection, book)
      lists[Row(collection: collection, key: id)] = .put(element: item.encoded, rank: rank, revision: revision)
    case .modified(let id, let item):
      change(id, of: collection, element: item.encoded, revision: revision)
    case .moved(let id, let gap):
      change(id, of: collection, rank: try rank(in: gap, of: collection, book), revision: revision)
    case .removed(let id):
      lists[Row(collection: collection, key: id)] = .remove
    case .cleared:
      lists = lists.filter { $0.key.collection != collection }
      clearedLists.insert(collection)
    }
  }

  private mutating func apply(_ edit: MapEdit, to collection: Collection, at revision: Revision) {
    switch edit {
    case .set(let key, let value):
      maps[Row(collection: collection, key: key)] = .put(value: value.encoded, revision: revision)
    case .removed(let key):
      maps[Row(collection: collection, key: key)] = .remove
    case .cleared:
      maps = maps.filter { $0.key.collection != collection }
      clearedMaps.insert(collection)
    }
  }

  /// Changes parts of a row of a list. A part that is nil stays.
  private mutating func change(
    _ id: ElementKey,
    of collection: Collection,
    element: [UInt8]? = nil,
    rank: Int? = nil,
    revision: Revision? = nil
  ) {
    let row = Row(collection: collection, key: id)
    switch lists[row] {
    case .put(let oldElement, let oldRank, let oldRevision)?:
      lists[row] = .put(element: element ?? oldElement, rank: rank ?? oldRank, revision: revision ?? oldRevision)
    case .update(let oldElement, let oldRank, let oldRevision)?:
      lists[row] = .update(element: element ?? oldElement, rank: rank ?? oldRank, revision: revision ?? oldRevision)
    case nil: lists[row] = .update(element: element, rank: rank, revision: revision)
    // A reactor cannot change an element that it has removed.
    case .remove?: break
    }
  }

  /// The rank of an element that is inserted or moved. May also give new ranks to elements around it.
  private mutating func rank(in gap: ListGap, of collection: Collection, _ book: StoredRanks) throws -> Int {
    var spread: [(ElementKey, Int)] = []
    let isCleared = clearedLists.contains(collection)
    let pending = lists
    let rank = try ListRanks(
      rank: { id in
        switch pending[Row(collection: collection, key: id)] {
        case .put(_, let rank, _)?: return rank
        case .update(_, let rank?, _)?: return rank
        case .remove?: return nil
        case .update(_, nil, _)?, nil:
          return isCleared ? nil : try book.rank(of: id, in: collection.name.text, of: collection.user)
        }
      },
      setRank: { item, rank in spread.append((item.id, rank)) }
    )
    .rank(in: gap)
    for (id, rank) in spread { change(id, of: collection, rank: rank) }
    return rank
  }

  // MARK: Statements

  /// Adds the statements to a pipeline. None of them depends on the order of the rows of another one.
  func add(to pipeline: inout PostgreSQLPipeline, origin: PostgreSQLUUID) {
    addClearing(to: &pipeline)
    addLists(to: &pipeline)
    addMaps(to: &pipeline)
    addRemovals(to: &pipeline)
    addRecords(to: &pipeline)
    addHeads(to: &pipeline, origin)
    OutboxStatements.add(events, to: &pipeline)
  }

  private func addClearing(to pipeline: inout PostgreSQLPipeline) {
    for (cleared, statement) in [(clearedLists, Self.clearLists), (clearedMaps, Self.clearMaps)] where !cleared.isEmpty
    {
      pipeline.add(statement, [.uuids(cleared.map(\.user.value)), .texts(cleared.map(\.name.text))])
    }
  }

  private func addLists(to pipeline: inout PostgreSQLPipeline) {
    var removed = RowColumns()
    var put = RowColumns()
    var updated = RowColumns()
    for (row, change) in lists {
      let (user, name, key) = (row.collection.user.value, row.collection.name.text, row.key.text)
      switch change {
      case .remove: removed.append(user, name, key)
      case .put(let element, let rank, let revision):
        put.append(user, name, key, element, rank: rank, revision)
      case .update(let element, let rank, let revision):
        updated.append(user, name, key, element, rank: rank, revision)
      }
    }
    if !removed.isEmpty { pipeline.add(Self.removeFromLists, removed.keys) }
    if !put.isEmpty { pipeline.add(Self.putIntoLists, put.keys + put.contents) }
    if !updated.isEmpty { pipeline.add(Self.updateLists, updated.keys + updated.contents) }
  }

  private func addMaps(to pipeline: inout PostgreSQLPipeline) {
    var removed = RowColumns()
    var put = RowColumns()
    for (row, change) in maps {
      let (user, name, key) = (row.collection.user.value, row.collection.name.text, row.key.text)
      switch change {
      case .remove: removed.append(user, name, key)
      case .put(let value, let revision): put.append(user, name, key, value, rank: nil, revision)
      }
    }
    if !removed.isEmpty { pipeline.add(Self.removeFromMaps, removed.keys) }
    if !put.isEmpty { pipeline.add(Self.putIntoMaps, put.keys + [put.texts, put.revisions]) }
  }

  private func addRemovals(to pipeline: inout PostgreSQLPipeline) {
    if removals.isEmpty { return }
    let rows = Array(removals)
    pipeline.add(
      Self.putRemovals,
      [
        .uuids(rows.map(\.key.user.value)), .texts(rows.map(\.key.name.text)),
        .integers(rows.map { Int64($0.value.rawValue) }),
      ]
    )
  }

  private func addRecords(to pipeline: inout PostgreSQLPipeline) {
    let rows = records.flatMap { user, records in records.values.map { (user: user, record: $0) } }
    if rows.isEmpty { return }
    pipeline.add(
      Self.putRecords,
      [
        .uuids(rows.map(\.user.value)), .texts(rows.map(\.record.key.key)),
        .byteStrings(rows.map(\.record.key.fingerprint)),
        .integers(rows.map(\.record.at.millisecondsSince1970)),
        .integers(rows.map { Int64($0.record.response.status) }),
        .byteStrings(rows.map(\.record.response.fields)),
        .optionalByteStrings(rows.map(\.record.response.body)),
        .optionalUUIDs(rows.map { $0.record.origin?.session.value }),
        .optionalIntegers(rows.map { ($0.record.origin?.revision.rawValue).map { Int64($0) } }),
      ]
    )
  }

  private func addHeads(to pipeline: inout PostgreSQLPipeline, _ origin: PostgreSQLUUID) {
    if entries.isEmpty { return }
    pipeline.add(
      Self.insertEntries,
      [
        .uuids(entries.map(\.user.value)), .integers(entries.map { Int64($0.entry.revision.number) }),
        .integers(entries.map { Int64($0.entry.position) }),
        .integers(entries.map { Int64($0.entry.revision.eraNumber) }),
        .integers(entries.map { Int64($0.entry.written) }),
        .texts(entries.map(\.entry.collection.description)),
        .integers(entries.map(\.entry.at.millisecondsSince1970)),
        .optionalUUIDs(entries.map { $0.entry.session?.value }),
        .optionalTexts(entries.map(\.entry.agent)), .texts(entries.map(\.entry.action)),
        .texts(entries.map(\.entry.mutations)),
      ]
    )
    let rows = Array(heads)
    let users = PostgreSQLValue.uuids(rows.map(\.key.value))
    let numbers = PostgreSQLValue.integers(rows.map { Int64($0.value.revision.number) })
    pipeline.add(
      Self.updateHeads,
      [
        users, numbers, .integers(rows.map { Int64($0.value.revision.eraNumber) }),
        .integers(rows.map { Int64($0.value.written) }),
      ]
    )
    pipeline.add(CommitRows.insertGroup, [.uuid(origin), users, numbers])
  }

  private static let clearLists = PostgreSQLStatement(
    """
    DELETE FROM list_elements AS e USING unnest($1::uuid[], $2::text[]) AS v (u, c)
    WHERE e.user_id = v.u AND e.collection = v.c
    """
  )
  private static let clearMaps = PostgreSQLStatement(
    """
    DELETE FROM map_values AS e USING unnest($1::uuid[], $2::text[]) AS v (u, c)
    WHERE e.user_id = v.u AND e.collection = v.c
    """
  )
  private static let removeFromLists = PostgreSQLStatement(
    """
    DELETE FROM list_elements AS e USING unnest($1::uuid[], $2::text[], $3::text[]) AS v (u, c, k)
    WHERE e.user_id = v.u AND e.collection = v.c AND e.id = v.k
    """
  )
  private static let removeFromMaps = PostgreSQLStatement(
    """
    DELETE FROM map_values AS e USING unnest($1::uuid[], $2::text[], $3::text[]) AS v (u, c, k)
    WHERE e.user_id = v.u AND e.collection = v.c AND e.key = v.k
    """
  )
  private static let putIntoLists = PostgreSQLStatement(
    """
    INSERT INTO list_elements (user_id, collection, id, element, rank, revision)
    SELECT u, c, k, convert_from(e, 'UTF8'), r, n
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[]) AS v (u, c, k, e, r, n)
    ON CONFLICT (user_id, collection, id) DO UPDATE SET
      element = excluded.element, rank = excluded.rank, revision = excluded.revision
    """
  )
  private static let updateLists = PostgreSQLStatement(
    """
    UPDATE list_elements AS e SET
      element = coalesce(convert_from(v.e, 'UTF8'), e.element), rank = coalesce(v.r, e.rank),
      revision = coalesce(v.n, e.revision)
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[]) AS v (u, c, k, e, r, n)
    WHERE e.user_id = v.u AND e.collection = v.c AND e.id = v.k
    """
  )
  private static let putIntoMaps = PostgreSQLStatement(
    """
    INSERT INTO map_values (user_id, collection, key, value, revision)
    SELECT u, c, k, convert_from(e, 'UTF8'), n
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bigint[]) AS v (u, c, k, e, n)
    ON CONFLICT (user_id, collection, key) DO UPDATE SET value = excluded.value, revision = excluded.revision
    """
  )
  private static let putRemovals = PostgreSQLStatement(
    """
    INSERT INTO removals (user_id, collection, revision)
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[])
    ON CONFLICT (user_id, collection) DO UPDATE SET revision = excluded.revision
    """
  )
  private static let putRecords = PostgreSQLStatement(
    """
    INSERT INTO idempotency_keys (user_id, key, fingerprint, at, status, fields, body, session_id, revision)
    SELECT * FROM unnest(
      $1::uuid[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[], $8::uuid[], $9::bigint[]
    )
    ON CONFLICT (user_id, key) DO UPDATE SET
      fingerprint = excluded.fingerprint, at = excluded.at, status = excluded.status, fields = excluded.fields,
      body = excluded.body, session_id = excluded.session_id, revision = excluded.revision
    """
  )
  private static let insertEntries = PostgreSQLStatement(
    """
    INSERT INTO journal
      (user_id, number, position, era, written, place, collection, at, session_id, acted_by, action, mutations)
    SELECT u, n, p, e, w, (SELECT pg_current_xact_id()::text::bigint + journal_offset << 20 FROM store) + o - 1,
      c, a, s, b, x, m
    FROM unnest(
      $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::uuid[],
      $9::text[], $10::text[], $11::text[]
    ) WITH ORDINALITY AS v (u, n, p, e, w, c, a, s, b, x, m, o)
    """
  )
  private static let updateHeads = PostgreSQLStatement(
    """
    UPDATE heads AS h SET number = v.n, era = v.e, written = v.w
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) AS v (u, n, e, w) WHERE h.user_id = v.u
    """
  )
}

/// The columns of several rows, as the parameters of one statement.
private struct RowColumns {
  private var users: [PostgreSQLUUID] = []
  private var collections: [String] = []
  private var names: [String] = []
  private var elements: [[UInt8]?] = []
  private var ranks: [Int64?] = []
  private var revisionNumbers: [Int64?] = []

  var isEmpty: Bool { users.isEmpty }

  var keys: [PostgreSQLValue] { [.uuids(users), .texts(collections), .texts(names)] }
  /// Elements, ranks and revisions.
  var contents: [PostgreSQLValue] { [texts, .optionalIntegers(ranks), revisions] }
  var texts: PostgreSQLValue { .optionalByteStrings(elements) }
  var revisions: PostgreSQLValue { .optionalIntegers(revisionNumbers) }

  mutating func append(_ user: PostgreSQLUUID, _ collection: String, _ name: String) {
    users.append(user)
    collections.append(collection)
    names.append(name)
  }

  mutating func append(
    _ user: PostgreSQLUUID,
    _ collection: String,
    _ name: String,
    _ element: [UInt8]?,
    rank: Int?,
    _ revision: Revision?
  ) {
    append(user, collection, name)
    elements.append(element)
    ranks.append(rank.map { Int64($0) })
    revisionNumbers.append(revision.map { Int64($0.rawValue) })
  }
}

extension Identifier {
  var value: PostgreSQLUUID { PostgreSQLUUID(high: uuid.high, low: uuid.low) }
}

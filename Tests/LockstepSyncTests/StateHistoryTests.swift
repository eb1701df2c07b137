import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

@Suite("History", .timeLimit(.minutes(10)))
struct HistoryTests {
  private static let modules = ["favorites", "defaults", "profile"]
  private static let day = Duration.seconds(24 * 3600)

  /// A user's states by revision, as they were in memory.
  private typealias Record = [Int: UserState]

  /// Commits random changes up to a revision, and records every state.
  private func write(
    upTo revision: Int,
    as session: LiveSession,
    in fixture: SyncFixture,
    random: inout SeededNumbers,
    valueBytes: Int = 10,
    onto record: inout Record
  ) async throws {
    var state = try await fixture.state(of: session)
    record[state.revision.number] = state
    while state.revision.number < revision {
      let id = "\(random.below(20))"
      let value = JSON.string(String(repeating: "x", count: random.below(valueBytes)) + "\(random.next())")
      let action: UserAction =
        switch random.below(12) {
        case 0: try fixture.action("profile", "save", ["position": .string("P\(random.next())")])
        case 1, 2: try fixture.action("favorites", "toggle", ["id": .string(id), "data": value])
        case 3: try fixture.action("favorites", "add", ["id": .string(id), "index": .integer(0), "data": value])
        case 4 where random.once(in: 8): try fixture.action("defaults", "clear", [:])
        case 5: try fixture.action("defaults", "merge", ["values": .object(JSONObject([(id, .null)]))])
        case 6: try fixture.set(id, value, suite: "rare")
        default: try fixture.set(id, value)
        }
      try await fixture.commit([action], as: session)
      state = try await fixture.state(of: session)
      record[state.revision.number] = state
    }
  }

  /// Checks that each past state equals the recorded one.
  private func expectPast(
    _ record: Record,
    of session: LiveSession,
    in fixture: SyncFixture,
    from first: Int = 0,
    every step: Int = 1
  ) async throws {
    for revision in stride(from: first, through: record.keys.max() ?? 0, by: step) {
      for module in Self.modules {
        let expected = try #require(record[revision]).only(module)
        let past = try #require(try await fixture.past(session, at: Revision(number: revision), module), "\(revision)")
        #expect(past.fingerprint == expected.fingerprint)
      }
    }
  }

  @Test("Every revision in the journal can be rebuilt, and no other revision")
  func all() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    var random = SeededNumbers(seed: TestSeed.make(for: "History"))
    var (anns, bobs) = (Record(), Record())
    try await write(upTo: 30, as: ann, in: fixture, random: &random, onto: &anns)
    try await write(upTo: 10, as: bob, in: fixture, random: &random, onto: &bobs)
    try await expectPast(anns, of: ann, in: fixture)
    try await expectPast(bobs, of: bob, in: fixture)
    for revision in [11, Revision(rawValue: .max)] {
      #expect(try await fixture.past(bob, at: revision, "favorites") == nil)
    }
    #expect(try await fixture.past(bob, at: 5, "nonsense") == nil)
    let stranger = SyncFixture.session(9)
    #expect(try await fixture.past(stranger, at: 0, "favorites")?.collections.isEmpty == true)
    #expect(try await fixture.past(stranger, at: 1, "favorites") == nil)
  }

  @Test("Many changes make snapshots, which shorten the rebuilding and do not change its result")
  func snapshots() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    var random = SeededNumbers(seed: TestSeed.make(for: "Snapshots of history"))
    var record = Record()
    try await write(upTo: 100, as: ann, in: fixture, random: &random, valueBytes: 8000, onto: &record)
    try await fixture.writerIsIdle()
    let count = try await fixture.count("SELECT count(*) FROM snapshots WHERE collection = 'defaults/standard'")
    #expect((1...4).contains(count))
    try await expectPast(record, of: ann, in: fixture)
    // The snapshots are used: the later states are the same without the earlier journal entries.
    let first = try await fixture.count("SELECT min(revision) FROM snapshots WHERE collection = 'defaults/standard'")
    _ = try await fixture.store.writer.write { connection in
      try connection.run(
        StoreSQL(
          sqlite: "DELETE FROM journal WHERE collection = 'defaults/standard' AND revision < ?",
          postgreSQL: "DELETE FROM journal WHERE collection = 'defaults/standard' AND number < ?::bigint >> 20"
        ),
        first
      )
    }
    #expect(
      try await fixture.past(ann, at: Revision(rawValue: first), "defaults")?.map(Suite.collection("standard"))
        .count
        == record[first >> 20]?.map(Suite.collection("standard")).count
    )
  }

  @Test("States shortly after a milestone in memory are rebuilt from it, without snapshots and earlier entries")
  func milestones() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    var random = SeededNumbers(seed: TestSeed.make(for: "Milestones"))
    for part in 0..<4 {
      let values = (0..<1_000).map { ("\(part)-\($0)", JSON.string(String(repeating: "x", count: 100))) }
      try await fixture.commit(
        [try fixture.action("defaults", "merge", ["suite": "large", "values": .object(JSONObject(values))])],
        as: ann
      )
    }
    var record = Record()
    for number in stride(from: 6, through: 400, by: 2) {
      let key = "\(random.below(4))-\(random.below(1_000))"
      try await fixture.commit([try fixture.set(key, .integer(Int64(number)), suite: "large")], as: ann)
      try await write(upTo: number, as: ann, in: fixture, random: &random, onto: &record)
    }
    try await fixture.writerIsIdle()
    let cached = try #require(fixture.cache.state(of: ann.user))
    #expect(cached.cost < 2 * cached.state.cost)
    let starts = (1...400).compactMap { number in
      cached.milestone(upTo: Revision(number: number)).map { (number, $0) }
    }
    // The latest states are in memory, so no request rebuilds them.
    #expect(starts.count > 60 && starts[0].1.revision.number == starts[0].0)
    let first = starts[0].1.revision
    _ = try await fixture.store.writer.write { connection in
      try connection.run("DELETE FROM snapshots")
      try connection.deleteJournal(before: first)
    }
    let history = fixture.modules.history
    for (number, start) in starts {
      for module in Self.modules {
        var expected = try #require(record[number]).only(module)
        let found = try await fixture.store.readers.read {
          try history.state(of: ann.user, at: Revision(number: number), .module(module), after: start, from: $0)
        }
        let past = try #require(found)
        // The deleted entries named some collections that later entries do not.
        expected.collections = expected.collections.filter { past.collections[$0.key] != nil }
        #expect(past.fingerprint == expected.fingerprint, "\(number) \(module)")
      }
    }
    #expect(cached.milestone(upTo: Revision(rawValue: first.rawValue - 1)) == nil)
    // If the entries after a milestone are pruned, the state is rebuilt from the snapshots.
    let bound = try #require(starts.dropFirst(20).first)
    let large = Suite.collection("large")
    let text = try #require(record[bound.0]?.collections[large]).snapshotText
    _ = try await fixture.store.writer.write { connection in
      try Snapshots(connection: connection).keep(text, as: large, of: ann.user, at: Revision(number: bound.0))
      try connection.deleteJournal(before: Revision(number: bound.0))
    }
    for (number, start) in starts.dropFirst(20) where start.revision == bound.1.revision {
      let past = try await fixture.store.readers.read {
        try history.state(of: ann.user, at: Revision(number: number), .collection(large), after: start, from: $0)
      }
      #expect(past?.map(large) == record[number]?.map(large))
    }
  }

  @Test("A damaged snapshot is an error and is not skipped")
  func damaged() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    _ = try await fixture.store.writer.write { connection in
      try connection.run("INSERT INTO snapshots VALUES (?, 'defaults/standard', 1048576, '{}')", ann.user)
    }
    await #expect(throws: SnapshotDamagedError.self) { try await fixture.past(ann, at: 1, "defaults") }
    #expect(try await fixture.past(ann, at: 0, "defaults") != nil)
  }

  // MARK: Pruning

  @Test("Old history is pruned in steps, and neither the rest nor the present state changes")
  func pruning() async throws {
    let fixture = try SyncFixture { $0.history = HistoryPolicy(days: 30, revisions: 20) }
    let ann = try await fixture.user(1)
    var random = SeededNumbers(seed: TestSeed.make(for: "Pruning"))
    var record = Record()
    // 300 revisions, all of them a day too old.
    try await write(upTo: 300, as: ann, in: fixture, random: &random, valueBytes: 1000, onto: &record)
    // A pruning that has begun reads the clock.
    try await fixture.writerIsIdle()
    fixture.clock.advance(by: Self.day * 31)
    try await write(upTo: 319, as: ann, in: fixture, random: &random, onto: &record)
    #expect(
      try await fixture.count(
        StoreSQL(
          sqlite: "SELECT min(revision) >> 20 FROM journal",
          postgreSQL: "SELECT min(number) FROM journal"
        )
      ) == 1
    )
    try await write(upTo: 320, as: ann, in: fixture, random: &random, onto: &record)
    try await fixture.writerIsIdle()
    #expect(
      try await fixture.count(
        StoreSQL(
          sqlite: "SELECT min(revision) >> 20 FROM journal",
          postgreSQL: "SELECT min(number) FROM journal"
        )
      ) == 257
    )
    #expect(try await fixture.past(ann, at: 256, "favorites") == nil)
    try await expectPast(record, of: ann, in: fixture, from: 257)
    let present = try await fixture.state(of: ann).fingerprint
    #expect(try await fixture.stored(ann).fingerprint == present)
    #expect(try await fixture.rebuilt(ann).fingerprint == present)
    try fixture.restart()
    #expect(try await fixture.state(of: ann).fingerprint == present)
    // Snapshots that are no longer needed are deleted with the entries before them.
    #expect(
      try await fixture.count(
        """
        SELECT count(*) FROM snapshots AS old WHERE revision < 256 << 20 AND EXISTS
          (SELECT 1 FROM snapshots WHERE collection = old.collection AND revision = 256 << 20)
        """
      ) == 0
    )
  }

  private struct Kept: CustomTestStringConvertible, Sendable {
    let what: String
    let policy: HistoryPolicy
    /// The age in days of the first 256 revisions, and of the others.
    let days: (old: Int, young: Int)
    let pruned: Int
    var testDescription: String { what }
  }

  @Test(
    "The policy determines what is kept",
    arguments: [
      Kept(
        what: "too old and not among the last revisions",
        policy: .init(days: 30, revisions: 10),
        days: (31, 0),
        pruned: 256
      ),
      Kept(
        what: "exactly as old as the policy keeps",
        policy: .init(days: 31, revisions: 10),
        days: (31, 0),
        pruned: 0
      ),
      Kept(
        what: "exactly the kept number of revisions remains",
        policy: .init(days: 30, revisions: 64),
        days: (31, 31),
        pruned: 256
      ),
      Kept(
        what: "one revision too few would remain",
        policy: .init(days: 30, revisions: 65),
        days: (31, 31),
        pruned: 0
      ),
      Kept(what: "young", policy: .init(days: 30, revisions: 10), days: (29, 0), pruned: 0),
      Kept(what: "a policy that keeps nothing", policy: .init(days: 0, revisions: 0), days: (1, 1), pruned: 256),
    ]
  )
  private func policy(_ row: Kept) async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    let now = Timestamp(millisecondsSince1970: 100 * 86_400_000)
    let pruning = JournalPruner(policy: row.policy, history: fixture.modules.history)
    let (old, young) = (100 - row.days.old, 100 - row.days.young)
    let pruned = try await fixture.store.writer.write { connection in
      try connection.execute(
        TestSQL(
          sqlite: """
            WITH RECURSIVE n (revision) AS (SELECT 1 UNION ALL SELECT revision + 1 FROM n WHERE revision < 320)
            INSERT OR REPLACE INTO journal (user_id, revision, position, collection, at, action, mutations)
            SELECT id, revision << 20, 0, 'defaults/standard',
              CASE WHEN revision <= 256 THEN \(old) ELSE \(young) END * 86400000, '{}',
              json_array(json_object('type', 'set', 'payload', json_object('key', 'a', 'value', revision)))
            FROM n, users
            """,
          postgreSQL: """
            DELETE FROM journal;
            INSERT INTO journal (user_id, number, position, era, written, place, collection, at, action, mutations)
            SELECT id, n, 0, 0, 0, n, 'defaults/standard',
              CASE WHEN n <= 256 THEN \(old) ELSE \(young) END * 86400000::bigint, '{}',
              '[{"type":"set","payload":{"key":"a","value":' || n || '}}]'
            FROM generate_series(1, 320) AS n, users;
            UPDATE heads SET number = 320
            """
        )
      )
      return try pruning.prune(ann.user, now: now, in: connection)
    }
    #expect(pruned == row.pruned)
    #expect(
      try await fixture.count(
        StoreSQL(
          sqlite: "SELECT min(revision) >> 20 FROM journal",
          postgreSQL: "SELECT min(number) FROM journal"
        )
      ) == row.pruned + 1
    )
    #expect(
      try await fixture.count(
        StoreSQL(
          sqlite: "SELECT max(revision) >> 20 FROM journal",
          postgreSQL: "SELECT max(number) FROM journal"
        )
      ) == 320
    )
    #expect(try await fixture.count("SELECT revision >> 20 FROM defaults") == 1)
    let first = row.pruned + 1
    let past = try await fixture.past(ann, at: Revision(number: first), "defaults")
    #expect(past?.map(Suite.collection("standard"))["a"]?.encoded == Array("\(first)".utf8))
  }

  @Test("An emptied suite is removed with its last history, and no longer counts towards the quota")
  func forgotten() async throws {
    let fixture = try SyncFixture {
      $0.history = HistoryPolicy(days: 0, revisions: 1)
      $0.defaults = DefaultsQuota(suites: 1)
    }
    let ann = try await fixture.user(1)
    // The quota of names is used up.
    for suite in 0..<16 {
      try await fixture.commit([try fixture.set("a", 1, suite: "s\(suite)")], as: ann)
      try await fixture.commit([try fixture.action("defaults", "clear", ["suite": .string("s\(suite)")])], as: ann)
    }
    await #expect(throws: ActionRefusal.self) {
      try await fixture.commit([try fixture.set("a", 1, suite: "x")], as: ann)
    }
    fixture.clock.advance(by: Self.day)
    for number in 0..<260 {
      try await fixture.commit([try fixture.set("a", .integer(Int64(number)), suite: "s0")], as: ann)
    }
    try await fixture.commit([try fixture.action("defaults", "clear", ["suite": "s0"])], as: ann)
    try await fixture.commit([try fixture.set("a", 1, suite: "s3")], as: ann)
    try await fixture.commit([try fixture.action("defaults", "clear", ["suite": "s3"])], as: ann)
    fixture.clock.advance(by: Self.day)
    for number in 0..<64 {
      try await fixture.commit([try fixture.set("a", .integer(Int64(number)), suite: "s0")], as: ann)
    }
    try await fixture.writerIsIdle()
    let present = try await fixture.state(of: ann)
    try fixture.restart()
    let known = try await fixture.state(of: ann).collections
    #expect(Set(known.keys.compactMap(\.part)) == ["s0", "s3"])
    #expect(known.filter { $0.value.count > 0 } == present.collections.filter { $0.value.count > 0 })
    #expect(try await fixture.rebuilt(ann).fingerprint == (try await fixture.state(of: ann)).fingerprint)
    try await fixture.commit([try fixture.action("defaults", "clear", ["suite": "s0"])], as: ann)
    try await fixture.commit([try fixture.set("a", 1, suite: "x")], as: ann)
  }

  @Test("A history above its limit in bytes loses its oldest revisions, whatever their age, but never the last one")
  func tooLong() async throws {
    let bytes = 400_000
    let fixture = try SyncFixture { $0.history = HistoryPolicy(days: 30, revisions: 1_000, bytes: bytes) }
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    var random = SeededNumbers(seed: TestSeed.make(for: "A history that takes too much"))
    var (record, bobs) = (Record(), Record())
    try await write(upTo: 5, as: bob, in: fixture, random: &random, valueBytes: 8_000, onto: &bobs)
    try await write(upTo: 299, as: ann, in: fixture, random: &random, valueBytes: 8_000, onto: &record)
    try await fixture.writerIsIdle()
    // On a slow machine, many writes may come while the server prepares one pruning. The next write
    // then starts another.
    try await write(upTo: 300, as: ann, in: fixture, random: &random, valueBytes: 8_000, onto: &record)
    try await fixture.writerIsIdle()
    func count(_ sql: StoreSQL) async throws -> Int {
      try await fixture.store.readers.read { connection in
        try connection.first(sql, ann.user) { try $0[0] } ?? 0
      }
    }
    // Before the next step, it may exceed the limit by an eighth and one transaction.
    let left = try await count("SELECT sum(length(action) + length(mutations)) FROM journal WHERE user_id = ?")
    #expect((bytes / 2...bytes + bytes / 8 + 20_000).contains(left), "\(left)")
    let first = try await count(
      StoreSQL(
        sqlite: "SELECT min(revision) >> 20 FROM journal WHERE user_id = ?",
        postgreSQL: "SELECT min(number) FROM journal WHERE user_id = ?"
      )
    )
    #expect(first > 100)
    #expect(try await fixture.past(ann, at: Revision(number: first - 1), "defaults") == nil)
    try await expectPast(record, of: ann, in: fixture, from: first)
    try await expectPast(bobs, of: bob, in: fixture)
    let present = try await fixture.state(of: ann).fingerprint
    #expect(try await fixture.rebuilt(ann).fingerprint == present)
    // After a restart, the count of bytes continues where it was.
    try fixture.restart()
    let huge = JSON.string(String(repeating: "y", count: 200_000))
    try await fixture.commit((0..<4).map { try fixture.set("huge\($0)", huge) }, as: ann)
    try await fixture.writerIsIdle()
    let last = try await count(
      StoreSQL(
        sqlite: "SELECT max(revision) >> 20 FROM journal WHERE user_id = ?",
        postgreSQL: "SELECT max(number) FROM journal WHERE user_id = ?"
      )
    )
    #expect(last == 301)
    let entries = try await count("SELECT count(*) FROM journal WHERE user_id = ?")
    #expect(entries == 4)
    #expect(try await fixture.past(ann, at: Revision(number: 301), "defaults") != nil)
  }

  /// Writes a text of `bytes` bytes to each of `suites` suites, twice, and returns every state.
  private func fill(
    _ suites: Int,
    _ bytes: Int,
    as session: LiveSession,
    in fixture: SyncFixture
  ) async throws -> Record {
    let state = try await fixture.state(of: session)
    let start = state.revision.number
    var record = [start: state]
    for number in start + 1...start + 2 * suites {
      let value = JSON.string(String(repeating: "\(number % 10)", count: bytes))
      try await fixture.commit([try fixture.set("a", value, suite: "\(number % suites)")], as: session)
      record[number] = try await fixture.state(of: session)
    }
    return record
  }

  @Test("After each transaction of a step, and after a crash between two of them, every past state is right")
  func longSnapshots() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let (suites, textBytes) = (8, 10_000)
    let record = try await fill(suites, textBytes, as: ann, in: fixture)
    let now = Timestamp(millisecondsSince1970: 1 << 40)
    // The second step ends before its last transaction, as in a crash. The third one prunes more.
    for (keptRevisions, transactions, isCrashing) in [(10, 1, false), (4, 1, true), (3, 2, false)] {
      let pruning = JournalPruner(
        policy: HistoryPolicy(bytes: keptRevisions * 2 * textBytes),
        history: fixture.modules.history,
        snapshotBytes: 3 * textBytes + 1_000
      )
      let begun = try await fixture.store.readers.read {
        try pruning.plan(ann.user, now: now, in: $0)?.takingSnapshots()
      }
      var (plan, snapshots) = try #require(begun)
      for _ in 0..<transactions {
        #expect(snapshots.count == 3 && !plan.states.isEmpty)
        try await expectValid(plan, snapshots, in: fixture)
        try await expectPast(record, of: ann, in: fixture, from: plan.first.number)
        (plan, snapshots) = plan.takingSnapshots()
      }
      #expect(plan.states.isEmpty)
      if isCrashing { continue }
      let gone = try await fixture.store.writer.write { [plan, snapshots] in try plan.finish(snapshots, in: $0) }
      let bound = 2 * suites - keptRevisions
      #expect(gone == bound - plan.first.number + 1)
      try await expectPast(record, of: ann, in: fixture, from: bound + 1)
      #expect(try await fixture.past(ann, at: Revision(number: bound), "defaults") == nil)
      // The plan is no longer valid.
      try await expectValid(plan, [], false, in: fixture)
    }
    #expect(try await fixture.count("SELECT count(*) FROM snapshots") > suites)
    // These are also those of the steps that ended too early.
    try await fixture.store.writer.write { connection in
      let obsolete = try Snapshots(connection: connection).obsolete(of: ann.user)
      for (name, bytes) in obsolete {
        #expect((textBytes..<textBytes + 1_000).contains(bytes))
        try Snapshots(connection: connection).delete(name, of: ann.user)
      }
    }
    #expect(try await fixture.count("SELECT count(*) FROM snapshots") == suites)
    try await expectPast(record, of: ann, in: fixture, from: 2 * suites - 2)
    let present = try await fixture.state(of: ann).fingerprint
    #expect(try await fixture.rebuilt(ann).fingerprint == present)
  }

  /// Writes snapshots in a transaction of their own.
  private func expectValid(
    _ plan: JournalPruner.Plan,
    _ snapshots: [JournalPruner.Plan.Snapshot],
    _ expected: Bool = true,
    in fixture: SyncFixture,
    _ place: SourceLocation = #_sourceLocation
  ) async throws {
    let isValid = try await fixture.store.writer.write { try plan.write(snapshots, in: $0) }
    #expect(isValid == expected, sourceLocation: place)
  }

  @Test(
    "Each long snapshot is written and deleted in a transaction of its own, so that other users' writes come in between"
  )
  func longPruning() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let (suites, bytes) = (8, 15_000)
    let time = fixture.clock.time
    let maintenance = HistoryMaintenance(
      pruning: JournalPruner(policy: .init(bytes: 1), history: fixture.modules.history, snapshotBytes: bytes),
      readers: fixture.store.readers,
      writer: fixture.store.writer,
      now: { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) }
    )
    // The second step makes the snapshots of the first one obsolete.
    for (last, transactions) in [(2 * suites, suites), (4 * suites, 2 * suites)] {
      let record = try await fill(suites, bytes, as: ann, in: fixture)
      try await fixture.writerIsIdle()
      let before = fixture.store.writer.statistics
      // While the step runs, it becomes due again and again.
      for _ in 0..<10 { maintenance.noteCommit(of: ann.user, try #require(record[last]), written: 1) }
      await eventually { !maintenance.isPruning }
      let after = fixture.store.writer.statistics
      // In PostgreSQL, these transactions are not counted.
      let counted = TestedStore.isSQLite ? transactions : 0
      #expect(after.units == before.units + counted && after.commits == before.commits + counted)
      #expect(maintenance.metrics.prunedRevisions == last - 1)
      #expect(try await fixture.count("SELECT count(*) FROM snapshots") == suites)
      try await expectPast(record, of: ann, in: fixture, from: last)
    }
  }

  @Test("Pruning the history of one user does not affect others")
  func others() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    for session in [ann, bob] { try await fixture.commit([try fixture.set("a", 1)], as: session) }
    let pruning = JournalPruner(policy: .init(days: 0, revisions: 1), history: fixture.modules.history)
    let pruned = try await fixture.store.writer.write { connection in
      try connection.execute(
        TestSQL(
          sqlite: """
            WITH RECURSIVE n (revision) AS (SELECT 2 UNION ALL SELECT revision + 1 FROM n WHERE revision < 257)
            INSERT INTO journal (user_id, revision, position, collection, at, action, mutations)
            SELECT id, revision << 20, 0, 'defaults/standard', 0, '{}', '[]' FROM n, users
            """,
          postgreSQL: """
            INSERT INTO journal (user_id, number, position, era, written, place, collection, at, action, mutations)
            SELECT id, n, 0, 0, 0, n, 'defaults/standard', 0, '{}', '[]' FROM generate_series(2, 257) AS n, users;
            UPDATE heads SET number = 257
            """
        )
      )
      return try pruning.prune(ann.user, now: Timestamp(millisecondsSince1970: 1 << 40), in: connection)
    }
    #expect(pruned == 256)
    #expect(try await fixture.count("SELECT count(*) FROM journal") == 1 + 257)
    #expect(try await fixture.past(bob, at: 0, "defaults") != nil)
  }
}

extension JournalPruner {
  /// Prunes a step in one transaction. Returns the number of pruned revisions.
  fileprivate func prune(_ user: UserID, now: Timestamp, in connection: StoreConnection) throws -> Int {
    guard var (plan, snapshots) = try plan(user, now: now, in: connection)?.takingSnapshots() else { return 0 }
    while !plan.states.isEmpty {
      guard try plan.write(snapshots, in: connection) else { return 0 }
      (plan, snapshots) = plan.takingSnapshots()
    }
    return try plan.finish(snapshots, in: connection)
  }
}

extension UserState {
  /// The state with the collections of one module only.
  fileprivate func only(_ module: String) -> UserState {
    var state = self
    state.collections = collections.filter { $0.key.module == module }
    return state
  }
}

extension StoreConnection {
  /// Deletes the entries of all users before a revision.
  fileprivate func deleteJournal(before revision: Revision) throws {
    try run(
      StoreSQL(
        sqlite: "DELETE FROM journal WHERE revision < ?",
        postgreSQL: "DELETE FROM journal WHERE number < ?::bigint >> 20"
      ),
      revision
    )
  }
}

import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore
@testable import LockstepTime

@Suite("The table of sessions in memory", .timeLimit(.minutes(10)))
struct SessionTableTests {
  private static func hash(_ number: Int) -> TokenHash { TokenHash(words: SIMD4(repeating: UInt64(number))) }

  private static func entry(_ number: Int) -> SessionEntry {
    let usage = SessionUsage(
      id: SessionID(UUIDv7(milliseconds: 0, random12: 0, random62: UInt64(number))),
      user: UserID(UUIDv7(milliseconds: 0, random12: 0, random62: 0)),
      lastSeenAt: Timestamp(millisecondsSince1970: 0),
      expiresAt: Timestamp(millisecondsSince1970: 1_000),
      cursor: nil
    )
    return SessionEntry(usage, tokenHash: hash(number))
  }

  @Test("The table never exceeds its capacity, and keeps the half that was used last", arguments: [2, 3, 10, 101])
  func bounded(capacity: Int) {
    var table = SessionTable(capacity: capacity)
    for number in 0..<1_000 {
      table.insert(Self.entry(number))
      #expect(table.count <= capacity)
      for recent in max(0, number - capacity / 2 + 1)...number where table.peek(Self.hash(recent)) == nil {
        Issue.record("\(recent) is missing after \(number)")
      }
    }
  }

  @Test("A session that is used stays, however many come and go, and lookups do not make the table grow")
  func used() {
    var table = SessionTable(capacity: 20)
    table.insert(Self.entry(999))
    for number in 0..<200 {
      table.insert(Self.entry(number))
      let isThere = table.use(Self.hash(999)) { _ in true }
      #expect(isThere == true)
      for other in 0..<number { _ = table.use(Self.hash(other)) { _ in } }
      #expect(table.count <= 20)
    }
  }

  @Test("A session that a request holds stays, and is removed when it is released")
  func held() {
    var table = SessionTable(capacity: 4)
    table.insert(Self.entry(1_000))
    var held = table.peek(Self.hash(1_000))?.live
    for number in 0..<100 { table.insert(Self.entry(number)) }
    #expect(table.peek(Self.hash(1_000))?.live === held, "it is the same object")
    #expect(table.count <= 5)
    held = nil
    for number in 100..<110 { table.insert(Self.entry(number)) }
    #expect(table.peek(Self.hash(1_000)) == nil && held == nil)
  }

  @Test("If requests hold more sessions than the capacity, evictions still visit few sessions")
  func manyHeld() {
    var table = SessionTable(capacity: 100)
    var held: [LiveSession] = []
    for number in 0..<200 {
      table.insert(Self.entry(number))
      table.peek(Self.hash(number)).map { held.append($0.live) }
    }
    let before = table.visited
    for number in 200..<1_200 { table.insert(Self.entry(number)) }
    #expect(table.visited - before <= 2_000)
    for session in held { #expect(table.peek(session.tokenHash)?.live === session) }
    #expect(table.count <= 800)
    held = []
    for number in 1_200..<2_200 { table.insert(Self.entry(number)) }
    #expect(table.count <= 100)
  }

  @Test("A cursor that was not written is returned once, when its session is evicted")
  func usage() {
    var table = SessionTable(capacity: 4)
    table.insert(Self.entry(1_000))
    _ = table.use(Self.hash(1_000)) { $0.setCursor("c1") }
    #expect(table.takeEvictedUsage().isEmpty)
    for number in 0..<10 { table.insert(Self.entry(number)) }
    let usage = table.takeEvictedUsage()
    #expect(usage.map(\.cursor) == ["c1"])
    #expect(table.takeEvictedUsage().isEmpty)
  }

  @Test("All cursors that were not written are returned once")
  func allNotes() {
    var table = SessionTable(capacity: 4)
    for number in 0..<3 { table.insert(Self.entry(number)) }
    for number in 0..<2 { _ = table.use(Self.hash(number)) { $0.setCursor("c\(number)") } }
    #expect(table.takeUsage().compactMap(\.cursor).sorted() == ["c0", "c1"])
    #expect(table.takeUsage().isEmpty)
  }

  @Test("A removed session is in neither half")
  func removed() {
    var table = SessionTable(capacity: 4)
    for number in 0..<3 { table.insert(Self.entry(number)) }
    for number in 0..<3 { #expect(table.remove(Self.hash(number)) != nil) }
    #expect(table.count == 0 && table.remove(Self.hash(0)) == nil)
  }
}

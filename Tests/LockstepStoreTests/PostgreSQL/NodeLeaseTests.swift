import Testing

@testable import LockstepStore

/// Times in milliseconds.
@Suite("The lease of a server", .timeLimit(.minutes(1)))
struct NodeLeaseTests {
  private static func note(
    _ lease: NodeLease,
    read: Int64,
    sent: Int64,
    received: Int64,
    wasOver: Bool = false,
    at now: Int64? = nil
  ) -> NodeLease.Outcome {
    let renewal = NodeLease.Renewal(
      readAt: read * 1_000_000,
      sentAt: sent * 1_000_000,
      receivedAt: received * 1_000_000,
      wasOver: wasOver
    )
    return lease.note(renewal) { (now ?? received) * 1_000_000 }
  }

  private static func isHeld(_ lease: NodeLease, at now: Int64) -> Bool { lease.isHeld(at: now * 1_000_000) }

  /// A lease until 2,010, whose row shows it until 2,020.
  private static func begun() -> NodeLease {
    let lease = NodeLease()
    lease.begin(sentAt: 0, wasOver: true)
    #expect(!isHeld(lease, at: 1))
    #expect(note(lease, read: 10, sent: 20, received: 30) == .regained)
    return lease
  }

  @Test("A lease counts from before the commits were read, however long the response takes")
  func length() {
    let lease = Self.begun()
    #expect(Self.isHeld(lease, at: 2_009) && !Self.isHeld(lease, at: 2_010))
    #expect(Self.note(lease, read: 500, sent: 510, received: 1_900) == .extended)
    #expect(Self.isHeld(lease, at: 2_499) && !Self.isHeld(lease, at: 2_500))
    // The process stood still after the response, so the lease was over for a moment.
    #expect(Self.note(lease, read: 1_000, sent: 1_010, received: 1_020, at: 2_600) == .regained)
    #expect(Self.isHeld(lease, at: 2_600) && !Self.isHeld(lease, at: 3_000))
  }

  @Test("A renewal whose response comes after the end of the last one does not extend the lease")
  func lateResponse() {
    let lease = Self.begun()
    // Other servers may have seen the end of the lease after 2,020, and then ended sessions.
    #expect(Self.note(lease, read: 500, sent: 1_990, received: 2_030) == .over)
    #expect(!Self.isHeld(lease, at: 2_031))
    // These commits were read after that renewal, which has shown the lease since then.
    #expect(Self.note(lease, read: 2_040, sent: 2_050, received: 2_060) == .regained)
    #expect(Self.isHeld(lease, at: 4_039) && !Self.isHeld(lease, at: 4_040))
  }

  @Test("A renewal of a lease that was over by the clock of the database does not extend it")
  func overInDatabase() {
    let lease = Self.begun()
    #expect(Self.note(lease, read: 500, sent: 510, received: 520, wasOver: true) == .over)
    #expect(!Self.isHeld(lease, at: 521))
    #expect(Self.note(lease, read: 530, sent: 540, received: 550) == .regained)
    #expect(Self.isHeld(lease, at: 551))
  }

  @Test("A server that connects again keeps a lease that runs, and loses one that the database does not know")
  func newConnection() {
    let lease = Self.begun()
    lease.begin(sentAt: 1_000 * 1_000_000, wasOver: false)
    #expect(Self.isHeld(lease, at: 1_001))
    lease.begin(sentAt: 1_100 * 1_000_000, wasOver: true)
    #expect(!Self.isHeld(lease, at: 1_101))
  }

  @Test("A pause of the process of two seconds or more is a standstill, and explains failures for a while")
  func standstill() {
    let watch = StandstillWatch()
    let second: Int64 = 1_000_000_000
    // Before the thread runs, nothing is known.
    #expect(watch.recent(at: 100 * second) == nil)
    #expect(watch.note(at: 100 * second) == nil)
    #expect(watch.note(at: 101 * second) == nil)
    #expect(watch.recent(at: 102 * second) == nil)
    // Any thread may be the first one that runs again.
    #expect(watch.recent(at: 113 * second) == .seconds(12))
    #expect(watch.note(at: 113 * second) == .seconds(12))
    #expect(watch.note(at: 114 * second) == nil)
    #expect(watch.recent(at: 115 * second) == .seconds(12))
    _ = watch.note(at: 132 * second)
    _ = watch.note(at: 133 * second)
    #expect(watch.recent(at: 134 * second) == .seconds(18))
    for time in 134...160 { _ = watch.note(at: Int64(time) * second) }
    #expect(watch.recent(at: 160 * second) == nil)
  }

  @Test("A server that loses its lease without stopping is reported once, and again when it is back")
  func lostNodes() {
    var nodes = LostNodes()
    let start = ContinuousClock.now
    func note(_ holdsLease: Bool?, after milliseconds: Int, isOwnRunning: Bool = true) -> [FleetNotice] {
      let other = holdsLease.map { CommitFeed.OtherNode(id: "b", address: "http://b", holdsLease: $0) }
      // This one was lost before this server has started.
      let old = CommitFeed.OtherNode(id: "old", address: nil, holdsLease: false)
      return nodes.note(
        [old] + [other].compactMap { $0 },
        isOwnRunning: isOwnRunning,
        at: start + .milliseconds(milliseconds)
      )
    }
    let lost = FleetNotice.nodeLost(id: "b", address: "http://b")
    #expect(note(true, after: 0) == [])
    #expect(note(false, after: 500) == [])
    #expect(note(false, after: 1_500) == [lost])
    #expect(note(false, after: 9_000) == [])
    #expect(note(true, after: 9_500) == [.nodeBack(id: "b", address: "http://b", after: .seconds(9))])
    // A node is reported at most once in ten seconds.
    #expect(note(false, after: 10_000) == [])
    #expect(note(false, after: 11_100) == [])
    #expect(note(false, after: 12_000) == [lost])
    #expect(note(true, after: 12_500).count == 1)
    // If the database hangs, this server has no lease either.
    #expect(note(false, after: 30_000, isOwnRunning: false) == [])
    #expect(note(false, after: 31_500, isOwnRunning: false) == [])
    #expect(note(true, after: 32_000) == [])
    // A server that stops deletes its row.
    #expect(note(false, after: 50_000) == [])
    #expect(note(nil, after: 51_500) == [])
    #expect(note(false, after: 53_000) == [])
  }
}

import LockstepCollections
import LockstepThreading

/// Makes what takes long to make, off the event loops: whole lists of thousands, the difference of two.
///
/// What is wanted by many at the same time, as by all who wait with the same cursor, is made once. None of the users keeps more
/// than half of the threads busy.
package final class BackgroundEncoder: Sendable {
  /// From which weight on work is long. About a millisecond's: a loop could answer some fifty others meanwhile.
  package static let bound = 1 << 20

  /// How much work something is. The unit is what it takes to copy a byte of a document, with what that costs in memory: some
  /// 1 ns (measured: 10,000 favorites of 130 bytes take 1.8 ms to be written down, 4,000 and 4,000 to be told apart 0.9 ms).
  package enum Weight {
    /// To write an element down, beside its bytes.
    package static let element = 64
    /// To put one in its place in the order of names.
    static let sortedElement = 192
    /// To see that an element is where it was.
    package static let stayingElement = 24
    /// To find out what happened to an element.
    static let changedElement = 512
  }

  /// Something that is made of a state.
  package struct Name: Hashable, Sendable {
    /// The state, which whoever makes it holds.
    let state: ObjectIdentifier
    let what: String

    package init(_ what: String, of hot: CachedState) {
      state = ObjectIdentifier(hot)
      self.what = what
    }

    /// What is told to whoever asks this.
    package init(_ question: ChangesFeed.Question, of hot: CachedState) {
      self.init("\(question.registered) \(question.text)", of: hot)
    }
  }

  package let documents = SingleFlight<Name, ChangesFeed.Document, any Error>()
  package let representations = SingleFlight<Name, Representation?, any Error>()
  package let shares: FairShareLimiter<UserID>
  private let pool: WorkerPool

  /// - Parameters:
  ///   - pool: The threads.
  ///   - threads: How many they are.
  package init(_ pool: WorkerPool, threads: Int) {
    self.pool = pool
    shares = FairShareLimiter(name: "a user's long answers", atOnce: threads / 2, waiting: 256)
  }

  /// Runs work of a user's, when it's their turn.
  package func run<Value: Sendable>(
    for user: UserID,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) { try await pool.run(work) }
  }
}

import LockstepCollections
import LockstepThreading

/// Encodes long responses on its own threads, so that the event loops do not: lists of thousands of elements, and the difference
/// of two such lists.
///
/// A response that many clients need at the same time, for example because they wait with the same cursor, is encoded once. A user
/// gets at most half of the threads.
package final class BackgroundEncoder: Sendable {
  /// Work with more weight is long: it takes about a millisecond, in which an event loop could send fifty responses.
  package static let bound = 1 << 20

  /// The weight of work. The unit is the cost of copying a byte of a document, about 1 ns. Measured: encoding 10,000 favorites of
  /// 130 bytes takes 1.8 ms, comparing 4,000 with 4,000 takes 0.9 ms.
  package enum Weight {
    /// Encoding an element, in addition to its bytes.
    package static let element = 64
    /// Sorting an element of a map by its key.
    static let sortedElement = 192
    /// Comparing an unchanged element.
    package static let stayingElement = 24
    /// Finding the change of an element.
    static let changedElement = 512
  }

  /// Identifies what is encoded of a state.
  package struct Name: Hashable, Sendable {
    /// The state. The caller that encodes it holds a reference.
    let state: ObjectIdentifier
    let what: String

    package init(_ what: String, of hot: CachedState) {
      state = ObjectIdentifier(hot)
      self.what = what
    }

    /// The document for a question.
    package init(_ question: ChangesFeed.Question, of hot: CachedState) {
      self.init("\(question.registered) \(question.text)", of: hot)
    }
  }

  package let documents = SingleFlight<Name, ChangesFeed.Document, any Error>()
  package let representations = SingleFlight<Name, Representation?, any Error>()
  package let shares: FairShareLimiter<UserID>
  private let pool: WorkerPool

  /// `threads` is the number of threads of the pool.
  package init(_ pool: WorkerPool, threads: Int) {
    self.pool = pool
    shares = FairShareLimiter(name: "a user's long answers", atOnce: threads / 2, waiting: 256)
  }

  /// Runs work for a user, when it is the user's turn.
  package func run<Value: Sendable>(
    for user: UserID,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await shares.run(for: user) { try await pool.run(work) }
  }
}

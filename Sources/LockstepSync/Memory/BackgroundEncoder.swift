import LockstepCollections
import LockstepJSON
import LockstepThreading

/// Encodes long responses outside the event loops, such as lists with thousands of elements.
///
/// Work that many clients need at the same time is done once. One user gets at most half of the
/// threads, and the networks of the clients take turns. Where registration is open, a client can add any
/// number of users, and each of them can cause such work with a few bytes.
package final class BackgroundEncoder: Sendable {
  /// Work above this weight is long: it takes over a millisecond, in which an event loop could
  /// respond to about fifty other requests.
  package static let bound = 1 << 20

  /// The cost of work. One unit, about 1 ns, is the time to allocate and copy one byte of a
  /// document. (Measured: encoding 10,000 favorites of 130 bytes takes 1.8 ms; comparing 4,000 with
  /// 4,000 takes 0.9 ms.)
  package enum Weight {
    /// Encoding a mutation, in addition to its bytes.
    package static let mutation = 64
    /// Finding that an element has not changed, or does not match.
    package static let comparedElement = 24
    /// How many bytes of elements a query reads in a unit.
    package static let queriedBytes = 1
    /// Finding the values of an element for a query, in addition to its bytes.
    package static let queriedElement = 100
    /// Comparing a value of an element in a condition.
    package static let condition = 50
    /// Sorting an element by one path.
    package static let sortedElement = 400
    /// Finding the change of an element.
    static let changedElement = 512
  }

  /// The identity of encoded data that is made from a state.
  package struct Name: Hashable, Sendable {
    /// The state. The encoding work retains it, so no other state gets the same identifier.
    let state: ObjectIdentifier
    let what: ExactText

    package init(_ what: String, of cached: CachedState) {
      state = ObjectIdentifier(cached)
      self.what = what.exact
    }

    package init(_ question: ChangesFeed.Question, of cached: CachedState) {
      self.init("\(question.registered) \(question.text)", of: cached)
    }
  }

  package let documents = SingleFlight<Name, ChangesFeed.Document, any Error>()
  package let representations = SingleFlight<Name, Representation?, any Error>()
  package let shares: FairShareLimiter<UserID>
  /// A network may use all threads while no other network needs them.
  package let networks: FairShareLimiter<Int>
  private let pool: WorkerPool

  /// How much work of a network waits for its turn.
  private static let waitingOfNetwork = 4_096

  package init(_ pool: WorkerPool, threads: Int) {
    self.pool = pool
    shares = FairShareLimiter(name: "a user's long responses", atOnce: threads / 2, waiting: 256)
    networks = FairShareLimiter(name: "a network's long work", atOnce: threads, waiting: Self.waitingOfNetwork)
  }

  /// Runs work for a user, or for a client without a user, when it is the turn of the user and of the client's
  /// network. `network` is nil for the work of a service token, which acts for many users.
  package func run<Value: Sendable>(
    for user: UserID?,
    from network: Int?,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    guard let user else { return try await run(from: network, work) }
    return try await shares.run(for: user) { try await run(from: network, work) }
  }

  nonisolated(nonsending) private func run<Value: Sendable>(
    from network: Int?,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    guard let network else { return try await pool.run(work) }
    return try await networks.run(for: network) { try await pool.run(work) }
  }

  /// Removes the limits permanently, for a shutdown.
  package func lift() {
    shares.lift()
    networks.lift()
  }
}

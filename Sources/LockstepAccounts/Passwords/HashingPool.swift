import LockstepCollections
import LockstepThreading

/// The owner of a password hash that the server computes.
package enum HashingOwner: Hashable, Sendable {
  /// A login from this network. `isKnown`: the account has logged in from there recently.
  case login(ClientNetwork, isKnown: Bool)
  /// A sign-up, or a change of an account.
  case change(ClientNetwork)
  case administrator
}

/// The threads that hash passwords, and each network's share of them.
///
/// Computing a hash is slow on purpose, and any client can ask for one. So the networks take turns:
/// of each `HashingOwner`, such as the known logins of a network, at most `threads` pieces of work run
/// or wait for a thread. The rest waits in a queue of the owner. Sign-ups and changes leave places for
/// logins, and other logins leave places for known ones. Known logins are also ahead of other work in
/// the threads' queue.
package final class HashingPool: Sendable {
  private let capacity: Int
  private let workers: WorkerPool
  private let shares: FairShareLimiter<HashingOwner>

  /// `capacity` limits how much work waits for a thread. It also limits how much work of each owner waits
  /// for its turn.
  package init(threads: Int, capacity: Int, counter: WorkCounter? = nil) throws(NamedThread.NotStarted) {
    self.capacity = capacity
    workers = try WorkerPool(name: "hash", threads: threads, capacity: capacity, counter: counter)
    // A network may use all threads while no other network needs them.
    shares = FairShareLimiter(name: "a network's passwords", atOnce: threads, waiting: capacity)
  }

  /// How much work waits, for its turn or for a thread.
  package var waiting: Int { shares.waitingCount + workers.waiting }

  func waiting(of owner: HashingOwner) -> Int { shares.waiting(of: owner) }

  /// Runs `work` on a thread of the pool when it is the owner's turn. Throws `PoolOverloadedError` if
  /// the owner's queue or the threads' queue is full, and `PoolShutDownError` after `shutDown()`.
  nonisolated(nonsending) func run<Result: Sendable>(
    for owner: HashingOwner,
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await shares.run(for: owner) {
      try await withCompletion { completion in
        try workers.submit(
          { (_: inout Void) in try work() },
          leaving: places(keptFrom: owner),
          isAhead: places(keptFrom: owner) == 0,
          completion: completion
        )
      }
    }
  }

  /// How many places of the threads' queue the owner cannot take.
  private func places(keptFrom owner: HashingOwner) -> Int {
    switch owner {
    case .change: capacity / 2
    case .login(_, isKnown: false): capacity / 4
    case .login(_, isKnown: true), .administrator: 0
    }
  }

  package func shutDown() { workers.shutDown() }
}

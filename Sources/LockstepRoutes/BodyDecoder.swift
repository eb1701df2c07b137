import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync
import LockstepThreading

/// Parses bodies of requests and reads what they ask for: short bodies on the event loop, long ones on the
/// encoder threads.
///
/// A parsed body takes much more memory than its text. So a body waits as text, in the memory for bodies,
/// until there is memory for it. Users and networks take turns.
package final class BodyDecoder: Sendable {
  /// Parsing and reading a body of this length takes less than a millisecond.
  package static let shortBody = 16 * 1024
  /// The memory of a parsed body of this length is not counted: it is comparable to that of a connection.
  private static let uncountedBody = 1024
  /// A parsed body takes at most about 30 times the memory of its text, if it consists of small arrays and
  /// objects.
  private static let memoryForByte = 32

  /// The memory for a parsed body. Keep it as long as the parsed body.
  struct Memory: Sendable {
    fileprivate let ofUser: MemoryLimiter<UserID>.Reservation?
    fileprivate let ofNetwork: MemoryLimiter<Int?>.Reservation
  }

  /// The steps and the memory that the rest of a request may use.
  struct Resources: Sendable {
    /// How many steps are left: see `WorkBudget`.
    let steps: Int
    /// Nil: the body is so short that its memory is not counted.
    let memory: Memory?
  }

  /// The memory for the parsed bodies of all users.
  package struct Pool: Sendable {
    /// How many bodies of an owner may wait.
    private static let waiting = 4_096

    package let users: MemoryLimiter<UserID>
    /// The owner nil stands for requests of service tokens.
    package let networks: MemoryLimiter<Int?>

    /// A network gets at most half of the memory, and a user a quarter.
    fileprivate init(_ bodies: String, memory: Int) {
      users = MemoryLimiter(name: "a user's \(bodies)", share: memory / 4, waiting: Self.waiting)
      networks = MemoryLimiter(
        name: "a network's \(bodies)",
        limit: memory,
        share: memory / 2,
        waiting: Self.waiting
      )
    }

    fileprivate func drain() {
      users.drain()
      networks.drain()
    }

    /// Reserves memory if that is possible without waiting.
    fileprivate func reserveNow(_ bytes: Int, _ user: UserID?, _ network: Int?) -> Memory? {
      var ofUser: MemoryLimiter<UserID>.Reservation?
      if let user {
        ofUser = users.reserveNow(bytes, for: user)
        if ofUser == nil { return nil }
      }
      return networks.reserveNow(bytes, for: network).map { Memory(ofUser: ofUser, ofNetwork: $0) }
    }

    /// Reserves the user's memory first. So a user who waits for it keeps no other user of the network waiting.
    nonisolated(nonsending) fileprivate func reserve(
      _ bytes: Int,
      _ user: UserID?,
      _ network: Int?
    ) async throws -> Memory {
      var ofUser: MemoryLimiter<UserID>.Reservation?
      if let user { ofUser = try await users.reserve(bytes, for: user) }
      return Memory(ofUser: ofUser, ofNetwork: try await networks.reserve(bytes, for: network))
    }
  }

  private let encoder: BackgroundEncoder
  /// For bodies above `shortBody`.
  package let long: Pool
  /// For other bodies whose memory is counted. They do not wait for long ones, also of the same user or network.
  package let short: Pool

  /// `memory` is how much all parsed bodies may take.
  package init(_ encoder: BackgroundEncoder, memory: Int) {
    self.encoder = encoder
    let ofShort = memory / 8
    short = Pool("short bodies", memory: ofShort)
    long = Pool("long bodies", memory: memory - ofShort)
  }

  /// From now on, a request that waits cannot be cancelled. For a shutdown that finishes all requests.
  package func drain() {
    short.drain()
    long.drain()
  }

  /// Handles a request in two parts: `decode` parses and reads its body, and `next` gets the result on the
  /// event loop.
  ///
  /// The event loop decodes a short body. If that takes too many steps, or if there is no memory at the
  /// moment, an encoder thread does it, as for a long body.
  func decode<Value: Sendable>(
    _ body: [UInt8],
    for user: UserID?,
    from network: Int?,
    _ decode: @escaping @Sendable (WorkBudget) throws -> Value,
    then next: @escaping @Sendable (Value, Resources) throws -> HandlerResult
  ) throws -> HandlerResult {
    let isCounted = body.count > Self.uncountedBody
    let isShort = body.count <= Self.shortBody
    let bytes = body.count * Self.memoryForByte
    let reserved = isCounted && isShort ? short.reserveNow(bytes, user, network) : nil
    if reserved != nil || !isCounted {
      let budget = WorkBudget(steps: WorkBudget.short)
      let result = Result { try decode(budget) }
      if !budget.isExhausted {
        let steps = WorkBudget.ofRequest - WorkBudget.short + budget.steps
        return try next(result.get(), Resources(steps: steps, memory: reserved))
      }
    }
    return .async { [self] in
      let memory =
        if let reserved { reserved } else { try await (isShort ? short : long).reserve(bytes, user, network) }
      let (value, steps) = try await encoder.run(for: user, from: network) {
        let budget = WorkBudget(steps: WorkBudget.ofRequest)
        let result = Result { try decode(budget) }
        if budget.isExhausted { throw TooMuchWorkError() }
        return (try result.get(), budget.steps)
      }
      return try next(value, Resources(steps: steps, memory: memory))
    }
  }
}

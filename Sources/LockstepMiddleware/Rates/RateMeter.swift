import LockstepAccounts
import LockstepHTTP
import LockstepJSON
import Synchronization

/// A limit on requests at work: who is past it is told 429, and everybody how much they have left
/// (draft-ietf-httpapi-ratelimit-headers).
package final class RateMeter: Sendable {
  /// What the limit is counted by; its name in the fields.
  package enum Partition: String, Sendable, CaseIterable {
    case token
    case address
  }

  package let partition: Partition
  let limit: RateLimit
  private let policy: HeaderFields
  private let monotonic: @Sendable () -> Int64
  private let refusals = Atomic(0)

  package init(_ limit: RateLimit, by partition: Partition, monotonic: @escaping @Sendable () -> Int64) {
    self.partition = partition
    self.limit = limit
    self.monotonic = monotonic
    var policy = HeaderFields()
    let burst = limit.burst == limit.requests ? "" : ";burst=\(limit.burst)"
    policy.append(.rateLimitPolicy, "\"\(partition)\";q=\(limit.requests);w=\(limit.seconds)\(burst)")
    self.policy = policy
  }

  /// How many requests it has refused.
  package var refused: Int { refusals.load(ordering: .relaxed) }

  /// Answers a request of somebody, which came at `now`, and says in the answer how much is left. Throws 429 where it's one too many:
  /// then nothing is used up.
  package func answer(_ client: any RateLimited, at now: Int64, _ answer: () throws -> HandlerResult) throws
    -> HandlerResult
  {
    if case .wait(let time) = client.take(limit, at: now) { throw refusal(of: client, for: time) }
    let reading = RateReading(meter: self, client: client)
    do {
      return try answer().transformed(by: reading)
    } catch {
      throw reading.told(error)
    }
  }

  private func refusal(of client: any RateLimited, for time: Int64) -> Problem {
    refusals.add(1, ordering: .relaxed)
    let seconds = Self.wholeSeconds(time)
    var problem = Problem(
      .tooManyRequests,
      detail: "There were more requests than \(limit.requests) in \(limit.seconds) s, the limit for each \(partition). "
        + "The next is answered in \(seconds) s.",
      members: [("violated-policies", [.string(partition.rawValue)])]
    )
    problem.fields.append(.retryAfter, "\(seconds)")
    problem.fields.append(contentsOf: fields(for: client))
    return problem
  }

  /// What an answer says of the limit: how many more there may be at once, and in how many seconds all of a burst.
  func fields(for client: any RateLimited) -> HeaderFields {
    let recovery = client.recovery(at: monotonic())
    let left = max(0, (limit.span - recovery) / limit.interval)
    var fields = policy
    fields.append(.rateLimit, "\"\(partition)\";r=\(left);t=\(Self.wholeSeconds(recovery))")
    return fields
  }

  /// Rounded up: who waits as long as they were told mustn't be told to wait again.
  private static func wholeSeconds(_ nanoseconds: Int64) -> Int64 { (nanoseconds + 999_999_999) / 1_000_000_000 }
}

/// How much of a limit somebody has left, whenever it's asked.
struct RateReading: Sendable {
  let meter: RateMeter
  let client: any RateLimited

  var fields: HeaderFields { meter.fields(for: client) }

  /// An error with what it says of the limit, where a client is told of it at all.
  func told(_ error: any Error) -> any Error {
    guard var problem = error as? Problem ?? Problem.telling(of: error) else { return error }
    problem.fields.append(contentsOf: fields)
    return problem
  }
}

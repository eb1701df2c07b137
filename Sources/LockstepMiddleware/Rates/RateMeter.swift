import LockstepAccounts
import LockstepHTTP
import LockstepJSON
import Synchronization

/// Applies a rate limit: a client past it gets 429, and every response says what is left
/// (draft-ietf-httpapi-ratelimit-headers).
package final class RateMeter: Sendable {
  /// The key by which requests are counted, as the fields name it.
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

  /// Handles a request, and adds what is left to its response. Throws 429 past the limit.
  package func answer(_ client: RateBucket, at now: Int64, _ answer: () throws -> HandlerResult) throws
    -> HandlerResult
  {
    if case .wait(let time) = client.take(limit, at: now) { throw refusal(of: client, for: time) }
    let reading = RateReading(meter: self, client: client)
    do {
      return try answer().transformed(by: reading)
    } catch {
      throw reading.reported(by: error)
    }
  }

  private func refusal(of client: RateBucket, for time: Int64) -> Problem {
    refusals.add(1, ordering: .relaxed)
    let seconds = Self.wholeSeconds(time)
    var retry = HeaderFields([.retryAfter: "\(seconds)"])
    retry.append(contentsOf: fields(for: client))
    return Problem(
      .tooManyRequests,
      detail: "The limit for each \(partition) is \(limit.requests) requests in \(limit.seconds) s. "
        + "Try again in \(seconds) s.",
      members: [("violated-policies", [.string(partition.rawValue)])],
      fields: retry
    )
  }

  /// The fields of a response: the requests left, and the seconds until a whole burst is.
  func fields(for client: RateBucket) -> HeaderFields {
    let recovery = client.recovery(at: monotonic())
    let left = max(0, (limit.span - recovery) / limit.interval)
    var fields = policy
    fields.append(.rateLimit, "\"\(partition)\";r=\(left);t=\(Self.wholeSeconds(recovery))")
    return fields
  }

  /// Rounded up: a client that waits this long is not refused again.
  private static func wholeSeconds(_ nanoseconds: Int64) -> Int64 { (nanoseconds + 999_999_999) / 1_000_000_000 }
}

/// The rest of a client's limit at the time of asking.
struct RateReading: Sendable {
  let meter: RateMeter
  let client: RateBucket

  var fields: HeaderFields { meter.fields(for: client) }

  /// An error with the limit's fields, if it becomes a problem.
  func reported(by error: any Error) -> any Error {
    guard var problem = error as? Problem ?? Problem.describing(error) else { return error }
    problem.fields.append(contentsOf: fields)
    return problem
  }
}

import LockstepAccounts
import LockstepHTTP
import LockstepJSON
import Synchronization

/// Applies a rate limit, and reports the requests left (draft-ietf-httpapi-ratelimit-headers).
package final class RateMeter: Sendable {
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
    let burst = limit.burst == limit.requests ? "" : ";burst=\(limit.burst)"
    policy = HeaderFields([.rateLimitPolicy: "\"\(partition)\";q=\(limit.requests);w=\(limit.seconds)\(burst)"])
  }

  package var refused: Int { refusals.load(ordering: .relaxed) }

  /// Handles a request, and adds the number of requests left to the response. Throws 429 if none is
  /// left.
  package func respond(to client: RateBucket, at now: Int64, _ respond: () throws -> HandlerResult) throws
    -> HandlerResult
  {
    if case .wait(let time) = client.take(limit, at: now) { throw refusal(of: client, for: time) }
    let reading = RateReading(meter: self, client: client)
    do {
      return try respond().transformed(by: reading)
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

  /// The fields of a response: the requests left, and the seconds until a whole burst is available.
  func fields(for client: RateBucket) -> HeaderFields {
    let recovery = client.recovery(at: monotonic())
    let left = max(0, (limit.span - recovery) / limit.interval)
    var fields = policy
    fields.append(.rateLimit, "\"\(partition)\";r=\(left);t=\(Self.wholeSeconds(recovery))")
    return fields
  }

  /// Rounded up, so that a client that waits this long is not refused again.
  private static func wholeSeconds(_ nanoseconds: Int64) -> Int64 { (nanoseconds + 999_999_999) / 1_000_000_000 }
}

/// Adds the number of requests left to a response, as of the time when the response is made, not of
/// the time when the request arrived.
struct RateReading: ResponseTransform {
  let meter: RateMeter
  let client: RateBucket

  var fields: HeaderFields { meter.fields(for: client) }

  func result(_ response: Response) -> HandlerResult { .response(withFields(response)) }

  func result(_ response: Response, reusableBy validity: any ResponseValidity) -> HandlerResult {
    .reusable(response, RateLimitedValidity(validity, self))
  }

  func result(_ response: Response, streaming source: any EventSource) -> HandlerResult {
    .eventStream(withFields(response), source)
  }

  func result(of error: any Error) throws -> HandlerResult { throw reported(by: error) }

  /// If the error becomes a problem, the problem with the limit's fields; otherwise the error.
  func reported(by error: any Error) -> any Error {
    guard var problem = error as? Problem ?? Problem.describing(error) else { return error }
    problem.fields.append(contentsOf: fields)
    return problem
  }

  private func withFields(_ response: Response) -> Response {
    var response = response
    response.fields.append(contentsOf: fields)
    return response
  }
}

/// A validity that ends when no request is left. Each use of the response counts as a request.
private final class RateLimitedValidity: ResponseValidity {
  private let validity: any ResponseValidity
  private let reading: RateReading

  init(_ validity: any ResponseValidity, _ reading: RateReading) {
    self.validity = validity
    self.reading = reading
  }

  /// Counts the request only if the response is valid. If not, the request is counted when it is
  /// handled.
  func holds(at arrival: Int64) -> Bool {
    let (client, limit) = (reading.client, reading.meter.limit)
    guard client.hasAny(limit, at: arrival), validity.holds(at: arrival) else { return false }
    // Meanwhile another event loop may have used the last request of the limit. Then this request
    // is allowed beyond the limit, because `validity` has already recorded it.
    _ = client.take(limit, at: arrival)
    return true
  }

  var fields: HeaderFields {
    var fields = validity.fields
    fields.append(contentsOf: reading.fields)
    return fields
  }
}

import LockstepJSON
import LockstepTime

/// The connection of a client to its server. Only `next(after:)` changes it.
///
/// It does the same as lockstep.js: see the table in docs/web.md.
struct ConnectionState: Sendable, Equatable {
  /// Where the connection stands.
  enum Phase: String, Sendable, CaseIterable {
    /// Not started.
    case idle
    /// A request is under way, and nothing is known yet.
    case connecting
    /// The last request got a response.
    case live
    /// The last request got none. The next one is sent at `retryAt`.
    case offline
    /// The session has ended. The outbox is kept.
    case needsLogin
    /// The server refuses the client's requests, or is not a Lockstep server.
    case failed
    case stopped
  }

  var phase = Phase.idle
  /// How many requests in a row got no response.
  var attempt = 0
  var retryAt: Timestamp?
  var failure: ClientFailure?
}

extension ConnectionState {
  /// The form in the client's file, for other processes.
  var json: JSON {
    var object: JSONObject = ["phase": .string(phase.rawValue)]
    if let retryAt { object["retryAt"] = .integer(retryAt.millisecondsSince1970) }
    if let failure { object["failure"] = failure.json }
    return .object(object)
  }

  /// Reads the JSON form. Nil for anything else.
  init?(_ json: JSON) {
    guard let phase = json["phase"]?.stringValue.flatMap(Phase.init(rawValue:)) else { return nil }
    self.phase = phase
    retryAt = json["retryAt"]?.intValue.map { Timestamp(millisecondsSince1970: Int64($0)) }
    failure = json["failure"].map { ClientFailure(stored: $0) }
  }
}

/// An event that may change the connection.
enum ConnectionEvent: Sendable {
  case start
  case stop
  case response
  case noResponse(retryAt: Timestamp, ClientFailure)
  /// The time of the next attempt has come.
  case time
  /// The network is back, or the device was asleep.
  case wake
  /// The app has come to the foreground.
  case visible
  case unauthorized(ClientFailure)
  case refused(ClientFailure)
  case login
}

/// A command to the client's tasks.
enum ConnectionCommand: String, Sendable {
  /// Begin to poll.
  case connect
  /// Cancel the poll and the request of the outbox.
  case disconnect
  /// Wait until `retryAt`.
  case wait
  /// Send the outbox.
  case send
}

extension ConnectionState {
  /// When to try again after another failure. The pause grows with each failure in a row. It is random, so that not all
  /// clients connect at the same time after a restart. `random` is from 0 to 1. The server asks for at least the pause
  /// `least`.
  func retryTime(now: Timestamp, random: Double, after least: Duration) -> Timestamp {
    let bound = min(60_000, 500 * (1 << min(attempt, 7)))
    let delay = Int64(Double(bound) * (0.5 + random / 2))
    return Timestamp(millisecondsSince1970: now.millisecondsSince1970 + max(delay, least.milliseconds))
  }

  /// The next state, and the commands to carry out, in order. An event that has no meaning in this state changes
  /// nothing.
  func next(after event: ConnectionEvent) -> (ConnectionState, [ConnectionCommand]) {
    let (wanted, phase, commands) = Self.transition(event)
    guard wanted.contains(self.phase) else { return (self, []) }
    var state = ConnectionState(phase: phase, attempt: attempt)
    switch event {
    case .start, .response, .login: state.attempt = 0
    case .noResponse(let retryAt, let failure):
      state.attempt = attempt + 1
      (state.retryAt, state.failure) = (retryAt, failure)
    case .unauthorized(let failure), .refused(let failure): state.failure = failure
    case .stop, .time, .wake, .visible: break
    }
    return (state, commands)
  }

  private static let connected: Set<Phase> = [.connecting, .live]
  private static let active = connected.union([.offline])
  private static let asleep: Set<Phase> = [.needsLogin, .failed]

  /// The states in which an event counts, the next state, and the commands.
  private static func transition(_ event: ConnectionEvent) -> (Set<Phase>, Phase, [ConnectionCommand]) {
    switch event {
    case .start: (asleep.union([.idle, .stopped]), .connecting, [.connect])
    case .stop: (active.union(asleep).union([.idle]), .stopped, [.disconnect])
    case .response: ([.connecting], .live, [.send])
    case .noResponse: (connected, .offline, [.disconnect, .wait])
    case .time: ([.offline], .connecting, [.connect])
    case .wake: (active, .connecting, [.disconnect, .connect])
    case .visible: ([.offline], .connecting, [.disconnect, .connect])
    case .unauthorized: (active, .needsLogin, [.disconnect])
    case .refused: (active, .failed, [.disconnect])
    case .login: (active.union(asleep), .connecting, [.disconnect, .connect])
    }
  }
}

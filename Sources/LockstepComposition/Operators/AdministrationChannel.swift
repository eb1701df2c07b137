import Glibc
import LockstepAccounts
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepMaintenance
import LockstepMiddleware
import LockstepThreading

/// Receives interruptions such as Ctrl-C. While a server has a request of this process, none of them may end it.
package protocol Interruption: Sendable {
  /// From now on, interruptions are only recorded.
  func hold()

  var isInterrupted: Bool { get }

  /// From now on, an interruption ends this process again.
  func release()
}

/// Sends an operator's requests to the administration of a store.
///
/// The server that uses the store's file responds, over its Unix socket. If no server uses the file, this process opens
/// the store and responds itself. With a store in PostgreSQL, this process always does that, as a node of the fleet.
///
/// Each request has an idempotency key. If the server ends before it has responded, the request is repeated.
package final class AdministrationChannel {
  package static let patience = Duration.seconds(15)
  static let pollInterval = Duration.milliseconds(50)

  private let configuration: Configuration
  private let location: StoreLocation
  private let modules: [UserModule]
  private let screens: [ScreenDeclaration]
  private let time: TimeSource
  private let interruption: (any Interruption)?
  private let logger: Logger
  private let pause: (Duration) -> Void
  private let randomWord: () -> UInt64
  private var opened: OpenedStore?
  private var hasCheckedSchema = false

  /// `modules` and `screens` are those of this program. `interruption` can withdraw a request that no server has.
  /// `pause` sleeps on this thread.
  package init(
    _ configuration: Configuration,
    modules: [UserModule] = [],
    screens: [ScreenDeclaration] = [],
    time: TimeSource = .system,
    interruption: (any Interruption)? = nil,
    logger: Logger = .silent,
    pause: @escaping (Duration) -> Void = CurrentThread.sleep
  ) throws {
    self.configuration = configuration
    location = configuration.store.map { .database($0) } ?? .file(configuration.data)
    (self.modules, self.screens, self.time) = (modules, screens, time)
    (self.interruption, self.logger, self.pause) = (interruption, logger, pause)
    randomWord = try Sodium().randomWord
  }

  deinit { opened?.close() }

  /// Sends a request, and returns the response when its effects are complete.
  ///
  /// Throws `AdministrationRefusal` if the response is no success, and `AdministrationInterruptedError` after an
  /// interruption. `MaintenanceError.notTaken` means that nothing was changed.
  package func send(_ method: Method, _ target: String, _ body: JSON? = nil) throws -> JSON {
    if !hasCheckedSchema {
      // Only a server and `lockstep migrate` change the schema.
      try location.expectCurrentSchema()
      hasCheckedSchema = true
    }
    let response = try response(to: request(method, target, body))
    guard response.status < 400 else { throw AdministrationRefusal(response) }
    return response.json
  }

  private func request(_ method: Method, _ target: String, _ body: JSON?) -> [UInt8] {
    let key = hexadecimal((0..<16).map { _ in UInt8(truncatingIfNeeded: randomWord()) })
    let bytes = body?.encoded() ?? []
    var head = "\(method.name) \(target) HTTP/1.1\r\nHost: lockstep\r\nConnection: close\r\nIdempotency-Key: \(key)\r\n"
    if body != nil { head += "Content-Type: application/json\r\nContent-Length: \(bytes.count)\r\n" }
    return Array("\(head)\r\n".utf8) + bytes
  }

  private func response(to request: [UInt8]) throws -> AdministrationResponse {
    if let opened { return try opened.response(to: request) }
    guard case .file(let path) = location, let socket = StorePath.socket(of: path) else {
      return try open().response(to: request)
    }
    interruption?.hold()
    defer { interruption?.release() }
    var exchange = Exchange(request: request, socket: socket, deadline: time.elapsed() + Self.patience)
    while true {
      if let response = try ask(&exchange) { return response }
      do {
        let opened = try open()
        // Opening takes a moment. A signal in this time withdraws the request.
        try expectNoInterruption(exchange)
        interruption?.release()
        return try opened.response(to: request)
      } catch StoreError.inUse {}
      try mayWait(exchange)
      pause(Self.pollInterval)
    }
  }

  private func open() throws -> OpenedStore {
    let opened = try OpenedStore(configuration, modules: modules, screens: screens, time: time, logger: logger)
    self.opened = opened
    return opened
  }

  // MARK: The server

  private struct Exchange {
    let request: [UInt8]
    let socket: String
    let deadline: Duration
    /// Whether a server may have got the request.
    var wasSent = false
  }

  private static let probe = Array("GET /healthz HTTP/1.1\r\nHost: lockstep\r\nConnection: close\r\n\r\n".utf8)

  /// Lets the server respond. Nil if no server listens, or if the server has ended before it has responded.
  private func ask(_ exchange: inout Exchange) throws -> AdministrationResponse? {
    let owner = location.owner ?? geteuid()
    do {
      // A server that hangs gets only this request, so the operator's can still be withdrawn.
      let probed = try UnixSocketClient.send(Self.probe, to: exchange.socket, of: owner) { [exchange] in
        try mayWait(exchange)
      }
      // Other commands may have taken all places.
      guard probed.status == 200 else { return nil }
      let response = try UnixSocketClient.send(exchange.request, to: exchange.socket, of: owner) {
        exchange.wasSent = true
        if interruption?.isInterrupted == true { throw AdministrationInterruptedError.begun }
      }
      let made = AdministrationResponse(response)
      // The server may still run the request whose connection was lost.
      return made.isKeyInUse || made.isTurnedAway ? nil : made
    } catch let error as SystemError {
      guard [EACCES, EPERM].contains(error.code) else { return nil }
      throw error
    }
  }

  private func expectNoInterruption(_ exchange: Exchange) throws(AdministrationInterruptedError) {
    if interruption?.isInterrupted == true { throw exchange.wasSent ? .begun : .withdrawn }
  }

  /// Throws if the operator or the time ends the wait.
  private func mayWait(_ exchange: Exchange) throws {
    try expectNoInterruption(exchange)
    guard time.elapsed() >= exchange.deadline else { return }
    let path = configuration.data
    throw exchange.wasSent ? MaintenanceError.notAnswered(path: path) : .notTaken(path: path)
  }
}

package enum AdministrationInterruptedError: Error, Sendable, Equatable, CustomStringConvertible {
  /// No server has got the request.
  case withdrawn
  /// The server has the request.
  case begun

  package var description: String {
    switch self {
    case .withdrawn: "Interrupted. The admin command was withdrawn, and nothing was changed."
    case .begun: "Interrupted too late: the server has begun to run the admin command, and finishes it."
    }
  }
}

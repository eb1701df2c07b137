import LockstepHTTP
import LockstepLogging
import LockstepMiddleware
import LockstepThreading

/// A store that this process has opened to respond to an operator's requests, without a server.
final class OpenedStore: Sendable {
  private let services: Services
  private let application: Application
  private let monotonic: @Sendable () -> Int64

  /// Throws `StoreError.inUse` if another process uses the file.
  init(
    _ configuration: Configuration,
    modules: [UserModule],
    screens: [ScreenDeclaration],
    time: TimeSource,
    logger: Logger
  ) throws {
    monotonic = time.monotonic
    services = try Services.durable(configuration, modules: modules, screens: screens, time: time) { error in
      logger.log(.warning, "waiting for the database", ["error": .string("\(error)")])
    }
    do {
      application = try services.users.operatorApplication(configuration, logger)
    } catch {
      services.shutDown()
      throw error
    }
  }

  func close() { services.shutDown() }

  /// Blocks until the response is complete.
  func response(to bytes: [UInt8]) throws -> AdministrationResponse {
    var parser = RequestParser(limits: .forOperator)
    let outcome = try bytes.withUnsafeBytes { try parser.parse($0) }
    guard case .head(let head, let length) = outcome else { throw Problem(.malformedRequest) }
    let body = RequestBody.bytes(Array(bytes[length...]))
    let request = Request(head: head, body: body, peer: .process, arrival: monotonic(), loop: 0)
    let response = try CurrentThread.run { [application] in
      var result = application.respond(to: request)
      while case .async(let work) = result { result = try await work() }
      guard case .response(let response) = result else { return Problem(.internal).response }
      return response
    }
    return AdministrationResponse(status: response.status.code, body: response.body.joined ?? [])
  }
}

import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with `URLSession`.
public final class URLSessionTransport: StreamingTransport {
  private let server: URL
  private let longestResponse: Int
  private let session: URLSession
  private let readings = Readings()

  /// A transport to the server at a URL such as `https://state.example.com`. It caches no responses and keeps no
  /// cookies. A response of more than `longestResponse` bytes is an error.
  public init(
    _ server: URL,
    longestResponse: Int = 64 << 20,
    configuration: URLSessionConfiguration = .ephemeral
  ) {
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    // A long poll, or one that was given up, must not keep the requests of the outbox waiting.
    configuration.httpMaximumConnectionsPerHost = max(configuration.httpMaximumConnectionsPerHost, 16)
    (self.server, self.longestResponse) = (server, longestResponse)
    session = URLSession(configuration: configuration, delegate: readings, delegateQueue: nil)
  }

  deinit {
    #if canImport(FoundationNetworking)
      session.finishTasksAndInvalidate()
    #else
      session.invalidateAndCancel()
    #endif
  }

  /// Sends a request.
  public func response(to request: ClientRequest) async throws -> ClientResponse {
    let stream = try await stream(of: request, limit: longestResponse)
    var response = stream.response
    let end = ContinuousClock.now + request.patience * 10
    for try await part in stream.parts {
      if ContinuousClock.now > end {
        throw ClientFailure(.unreachable, "The response of \(server) has taken too long.")
      }
      response.body += part
    }
    // Parts end without an error when the task is cancelled.
    try Task.checkCancellation()
    return response
  }

  /// Sends a request, and reads its response while it arrives. If the reader is so slow that thousands of parts wait,
  /// the stream ends with an error.
  public func stream(of request: ClientRequest) async throws -> ClientStream {
    try await stream(of: request, limit: nil)
  }

  /// Sends a request. `limit` is the most bytes of a whole response; nil for an endless one.
  private func stream(of request: ClientRequest, limit: Int?) async throws -> ClientStream {
    try Task.checkCancellation()
    let task = session.dataTask(with: try message(request))
    let (parts, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream(
      bufferingPolicy: limit == nil ? .bufferingOldest(4_096) : .unbounded
    )
    continuation.onTermination = { [readings] _ in readings.giveUp(task) }
    let response = try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { head in
        readings.add(task, Readings.Reading(head: head, parts: continuation, limit: limit))
        task.resume()
        if Task.isCancelled { readings.giveUp(task) }
      }
    } onCancel: {
      readings.giveUp(task)
    }
    return ClientStream(response: try Self.response(response, server), parts: parts)
  }

  private func message(_ request: ClientRequest) throws -> URLRequest {
    // A link of a hostile server must not lead to another host, such as `@example.com/`.
    guard request.target.hasPrefix("/"),
      let url = URL(string: server.absoluteString.trimmingSuffix("/") + request.target)
    else {
      throw ClientFailure(.unreachable, "\(server) is not the URL of a server.")
    }
    var message = URLRequest(url: url)
    message.httpMethod = request.method
    message.timeoutInterval = request.patience / .seconds(1)
    for (name, value) in request.fields { message.setValue(value, forHTTPHeaderField: name) }
    if let body = request.body { message.httpBody = Data(body) }
    return message
  }

  private static func response(_ response: URLResponse, _ server: URL) throws -> ClientResponse {
    guard let response = response as? HTTPURLResponse else {
      throw ClientFailure(.unreachable, "\(server) does not speak HTTP.")
    }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    return ClientResponse(status: response.statusCode, fields: fields)
  }
}

/// The responses that a session reads, by their tasks.
private final class Readings: NSObject, URLSessionDataDelegate, Sendable {
  struct Reading: Sendable {
    /// Waits for the response without its body.
    var head: CheckedContinuation<URLResponse, any Error>?
    let parts: AsyncThrowingStream<[UInt8], any Error>.Continuation
    /// The most bytes; nil for an endless response.
    let limit: Int?
    var received = 0
    var isGivenUp = false

    var isTooLong: Bool { limit.map { received > $0 } ?? false }
  }

  private let open = Mutex<[Int: Reading]>([:])

  func add(_ task: URLSessionTask, _ reading: Reading) { open.withLock { $0[task.taskIdentifier] = reading } }

  /// Ends a request whose response is not wanted any more.
  ///
  /// Foundation for Linux (Swift 6.3) deadlocks or ends the process if a task is cancelled while its response ends. So
  /// there, a short response is read and ignored. A request with a long one is cancelled when a part arrives, which an
  /// event stream sends every 15 seconds.
  func giveUp(_ task: URLSessionTask) {
    let head = open.withLock { open in
      open[task.taskIdentifier]?.isGivenUp = true
      return open[task.taskIdentifier]?.head.take()
    }
    head?.resume(throwing: CancellationError())
    #if !canImport(FoundationNetworking)
      task.cancel()
    #endif
  }

  /// Redirects are not followed: another host must not get a token, a password or a write.
  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession,
    dataTask: URLSessionDataTask,
    didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    open.withLock { $0[dataTask.taskIdentifier]?.head.take() }?.resume(returning: response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let found = open.withLock { open in
      open[dataTask.taskIdentifier]?.received += data.count
      return open[dataTask.taskIdentifier]
    }
    guard let reading = found else { return }
    if reading.isGivenUp {
      if reading.limit == nil || reading.isTooLong { dataTask.cancel() }
    } else if reading.isTooLong {
      reading.parts.finish(
        throwing: ClientFailure(
          .longResponse,
          "A response has more than \(reading.limit ?? 0) bytes."
        )
      )
    } else if case .dropped = reading.parts.yield([UInt8](data)) {
      reading.parts.finish(
        throwing: ClientFailure(.slowApp, "The app reads a response more slowly than the server sends it.")
      )
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let reading = open.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    let failure = error.map { ClientFailure(.unreachable, "The server cannot be reached: \($0.localizedDescription)") }
    reading.head?.resume(throwing: failure ?? ClientFailure(.unreachable, "The server has sent no response."))
    reading.parts.finish(throwing: failure)
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}

import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with `URLSession`.
public final class URLSessionTransport: StreamingTransport {
  private let server: URL
  private let session: URLSession
  private let streams = StreamDelegate()
  private let streaming: URLSession

  /// A transport to the server at a URL such as `https://state.example.com`. It caches no responses and keeps no
  /// cookies.
  public init(_ server: URL, configuration: URLSessionConfiguration = .ephemeral) {
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    // A long poll, or one that was given up, must not keep the requests of the outbox waiting.
    configuration.httpMaximumConnectionsPerHost = max(configuration.httpMaximumConnectionsPerHost, 16)
    self.server = server
    session = URLSession(configuration: configuration, delegate: streams, delegateQueue: nil)
    streaming = URLSession(configuration: configuration, delegate: streams, delegateQueue: nil)
  }

  deinit {
    for session in [session, streaming] {
      #if canImport(FoundationNetworking)
        session.finishTasksAndInvalidate()
      #else
        session.invalidateAndCancel()
      #endif
    }
  }

  /// Sends a request.
  public func response(to request: ClientRequest) async throws -> ClientResponse {
    let (data, response) = try await data(for: message(request))
    return try Self.response(response, [UInt8](data), server)
  }

  #if canImport(FoundationNetworking)
    /// Foundation for Linux (Swift 6.3) deadlocks or ends the process if a task is cancelled while its response
    /// ends. So a request whose task was cancelled is not cancelled; its response is ignored.
    private func data(for message: URLRequest) async throws -> (Data, URLResponse) {
      let result = FirstResult<Result<(Data, URLResponse), any Error>>()
      return try await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          result.await(continuation)
          let task = session.dataTask(with: message) { data, response, error in
            guard let data, let response else {
              return result.settle(.failure(error ?? ClientFailure("The server has sent no response.")))
            }
            result.settle(.success((data, response)))
          }
          task.resume()
        }
      } onCancel: {
        result.settle(.failure(CancellationError()))
      }.get()
    }
  #else
    private func data(for message: URLRequest) async throws -> (Data, URLResponse) {
      try await session.data(for: message)
    }
  #endif

  /// Sends a request, and reads its response while it arrives.
  public func stream(of request: ClientRequest) async throws -> ClientStream {
    let task = streaming.dataTask(with: try message(request))
    let (parts, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
    continuation.onTermination = { [streams] _ in streams.end(task) }
    let response = try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { head in
        streams.add(task.taskIdentifier, head, continuation)
        task.resume()
      }
    } onCancel: {
      streams.end(task)
    }
    return ClientStream(response: try Self.response(response, [], server), parts: parts)
  }

  private func message(_ request: ClientRequest) throws -> URLRequest {
    // A link of a hostile server must not lead to another host, such as `@example.com/`.
    guard request.target.hasPrefix("/"),
      let url = URL(string: server.absoluteString.trimmingSuffix("/") + request.target)
    else {
      throw ClientFailure("\(server) is not the URL of a server.")
    }
    var message = URLRequest(url: url)
    message.httpMethod = request.method
    message.timeoutInterval = request.patience / .seconds(1)
    for (name, value) in request.fields { message.setValue(value, forHTTPHeaderField: name) }
    if let body = request.body { message.httpBody = Data(body) }
    return message
  }

  private static func response(_ response: URLResponse, _ body: [UInt8], _ server: URL) throws -> ClientResponse {
    guard let response = response as? HTTPURLResponse else { throw ClientFailure("\(server) does not speak HTTP.") }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    return ClientResponse(status: response.statusCode, fields: fields, body: body)
  }
}

/// Passes on the parts of responses while they arrive.
private final class StreamDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private struct Stream: Sendable {
    var head: CheckedContinuation<URLResponse, any Error>?
    let parts: AsyncThrowingStream<[UInt8], any Error>.Continuation
  }

  private let open = Mutex<[Int: Stream]>([:])

  func add(
    _ task: Int,
    _ head: CheckedContinuation<URLResponse, any Error>,
    _ parts: AsyncThrowingStream<[UInt8], any Error>.Continuation
  ) {
    open.withLock { $0[task] = Stream(head: head, parts: parts) }
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

  /// Ends a stream. On Linux, the request is cancelled when its next part arrives, which is within 15 seconds: see
  /// `data(for:)`.
  func end(_ task: URLSessionDataTask) {
    #if canImport(FoundationNetworking)
      let head = open.withLock { $0.removeValue(forKey: task.taskIdentifier)?.head }
      head?.resume(throwing: CancellationError())
    #else
      task.cancel()
    #endif
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
    guard let parts = open.withLock({ $0[dataTask.taskIdentifier]?.parts }) else { return dataTask.cancel() }
    parts.yield([UInt8](data))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let stream = open.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    stream.head?.resume(throwing: error ?? ClientFailure("The server has sent no response."))
    stream.parts.finish(throwing: error)
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}

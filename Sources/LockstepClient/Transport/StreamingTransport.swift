/// A transport that can also read a response while it arrives, such as an event stream.
public protocol StreamingTransport: ClientTransport {
  /// Sends a request. Returns the response without its body as soon as its fields have arrived, and the parts of
  /// the body as they come. Must end soon when the task is cancelled, and when the sequence is released.
  func stream(of request: ClientRequest) async throws -> ClientStream
}

/// A response whose body arrives in parts.
public struct ClientStream: Sendable {
  /// The response without its body.
  public let response: ClientResponse
  /// The parts of the body. Throws if the body is incomplete.
  public let parts: AsyncThrowingStream<[UInt8], any Error>

  /// A response.
  public init(response: ClientResponse, parts: AsyncThrowingStream<[UInt8], any Error>) {
    (self.response, self.parts) = (response, parts)
  }
}

/// How a client gets changes.
public enum Following: Sendable {
  /// With long polls: a request for each change.
  case polls
  /// With an event stream: one request for many changes. Needs a `StreamingTransport`, and proxies that do not
  /// buffer responses. With any other transport, the client uses long polls.
  case events
}

import LockstepThreading

/// Sends HTTP requests to other servers, with libcurl.
///
/// - One thread runs all transfers concurrently, so a slow transfer delays no other.
/// - At most `Bounds.transfers` run at a time. If that many run already, `post` and `get` throw at
///   once.
/// - Cancelling a task in `post` or `get` aborts its transfer. The recipient may have the request
///   by then.
/// - TLS 1.2 or newer is required, and certificates are verified. Redirects are not followed.
/// - The first client loads libcurl, which stays loaded.
/// - A client that is released without `shutDown()` cancels its transfers.
public final class HTTPClient: Sendable {
  /// The limits of a client.
  public struct Bounds: Sendable, Equatable {
    /// How long connecting may take, including name resolution and TLS.
    public var connectTime: Duration
    /// How long a transfer may take in total.
    public var totalTime: Duration
    /// The largest response in bytes, including its head.
    public var responseBytes: Int
    /// Whether a response with a longer body is returned with the beginning of the body, and its
    /// connection closed. If not, such a response is an error, as a longer head always is.
    public var cutsBodies: Bool
    /// How many transfers may run at a time, each with its own connection.
    public var transfers: Int

    /// The limits. Those that are left out have their default values.
    public init(
      connectTime: Duration = .seconds(5),
      totalTime: Duration = .seconds(15),
      responseBytes: Int = 64 * 1024,
      cutsBodies: Bool = false,
      transfers: Int = 32
    ) {
      self.connectTime = connectTime
      self.totalTime = totalTime
      self.responseBytes = responseBytes
      self.cutsBodies = cutsBodies
      self.transfers = transfers
    }
  }

  /// The addresses that a client connects to.
  public enum Addresses: Sendable {
    /// All of them.
    case any
    /// Only those that `PublicAddresses` contains. The client checks each address just before it
    /// connects, so a changed DNS record cannot lead to a private address. It uses no proxy,
    /// because a proxy would resolve the name again.
    case `public`
  }

  /// The settings of a client.
  public struct Configuration: Sendable {
    /// The value of `User-Agent`.
    public var userAgent: String
    /// The limits.
    public var bounds = Bounds()
    /// A PEM file of certificates to trust instead of the system's.
    public var authorities: String?
    /// The addresses that the client connects to.
    public var addresses = Addresses.any
    /// Whether the client uses `https_proxy`, `http_proxy` and `no_proxy`, as curl does.
    public var usesProxies = true

    /// The settings of a client that sends this `User-Agent`.
    public init(userAgent: String) { self.userAgent = userAgent }
  }

  let transfers: Transfers
  private let thread: LockedState<NamedThread?>

  /// Throws `LibraryUnavailableError` if there is no libcurl, and `NamedThread.NotStarted` if the
  /// system has no more threads.
  public init(_ configuration: Configuration) throws {
    let transfers = try Transfers(configuration)
    self.transfers = transfers
    // The thread retains the transfers but not the client, so that an unused client is released.
    thread = LockedState(try NamedThread(name: "http-client") { transfers.run() })
  }

  deinit { stop()?.detach() }

  /// How many transfers run.
  public var running: Int { transfers.count }

  /// Sends a `POST` request and returns the response. Throws only if there is no complete response.
  /// A user name and a password in the URL are sent as Basic authentication. `fields` are added to
  /// the head: their values are visible ASCII, with spaces only inside.
  nonisolated(nonsending) public func post(
    _ body: [UInt8],
    type: String,
    fields: [(name: String, value: String)] = [],
    to url: String
  ) async throws(TransferError) -> TransferResponse {
    let lines = try fields.map { field throws(TransferError) in try Self.line(field.name, field.value) }
    return try await send(TransferRequest(body: body, type: type, url: url, fields: lines.joined(separator: "\n")))
  }

  /// Sends a `GET` request for JSON. Otherwise like `post`.
  nonisolated(nonsending) public func get(_ url: String) async throws(TransferError) -> TransferResponse {
    try await send(TransferRequest(url: url))
  }

  /// Sends a mail by SMTP through the relay of a URL, whose path is the name by which this client
  /// greets it. Lines of the message end in CRLF. Throws unless the relay has accepted the mail.
  nonisolated(nonsending) package func send(
    _ message: [UInt8],
    in envelope: MailEnvelope,
    through relay: String
  ) async throws(TransferError) {
    _ = try await send(TransferRequest(body: message, url: relay, mail: envelope))
  }

  /// The line of a header field.
  private static func line(_ name: String, _ value: String) throws(TransferError) -> String {
    let isName = !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
    let isValue = !value.isEmpty && value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    guard isName, isValue, !value.hasPrefix(" "), !value.hasSuffix(" ") else {
      throw TransferError(.notBegun, "The header field \(name.debugDescription) is empty or not visible ASCII")
    }
    return "\(name): \(value)"
  }

  nonisolated(nonsending) func send(
    _ request: TransferRequest
  ) async throws(TransferError) -> TransferResponse {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { transfers.start(request, $0) }
    } onCancel: {
      transfers.cancel(request)
    }
    return try result.get()
  }

  /// Cancels running transfers and refuses later ones. Blocks its caller for a moment, until the
  /// thread has ended. A second call returns at once.
  public func shutDown() { stop()?.join() }

  /// The caller must join or detach the returned thread.
  private func stop() -> NamedThread? {
    transfers.close()
    return thread.withLock { $0.take() }
  }
}

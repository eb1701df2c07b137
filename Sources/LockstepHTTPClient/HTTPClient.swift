import LockstepThreading

/// Sends what a server has to tell other servers: a typed hand on libcurl, on a thread of its own.
///
/// - One thread runs all transfers, so that one that hangs holds up none of the others, nor any event loop. A client that
///   has nothing to send costs nothing but that thread's sleep.
/// - As many transfers run at a time as `Bounds.transfers` says; beyond it `post` refuses at once.
/// - A task that is cancelled aborts its transfer. What was sent by then may have arrived.
/// - Certificates are verified against the system's authorities, of TLS 1.2 or newer; redirects are not followed; of an
///   answer only the status is kept.
/// - libcurl is loaded when the first client is made and stays until the process ends.
///
/// A client should be shut down. One that is just dropped cancels what still runs, and its thread ends by itself.
public final class HTTPClient: Sendable {
  /// How far a client goes.
  public struct Bounds: Sendable, Equatable {
    /// How long it may take to connect, names and TLS included.
    public var connectTime: Duration
    /// How long a transfer may take as a whole.
    public var totalTime: Duration
    /// How long an answer may be, its head and its body. Nobody reads it; a longer one ends the transfer.
    public var answerBytes: Int
    /// How many transfers run at a time, each with a connection.
    public var transfers: Int

    /// Bounds; what isn't said is the default.
    public init(
      connectTime: Duration = .seconds(5),
      totalTime: Duration = .seconds(15),
      answerBytes: Int = 64 * 1024,
      transfers: Int = 32
    ) {
      self.connectTime = connectTime
      self.totalTime = totalTime
      self.answerBytes = answerBytes
      self.transfers = transfers
    }
  }

  /// What a client is made of.
  public struct Configuration: Sendable {
    /// What it calls itself.
    public var userAgent: String
    /// How far it goes.
    public var bounds = Bounds()
    /// A file of certificates, in PEM, to trust in place of the system's. Default nil: the system's.
    public var authorities: String?
    /// Whether it goes through the proxies that `https_proxy`, `http_proxy` and `no_proxy` name, as curl does. Default:
    /// yes.
    public var usesProxies = true

    /// A configuration with its defaults.
    public init(userAgent: String) {
      self.userAgent = userAgent
    }
  }

  let transfers: Transfers
  private let thread: LockedState<NamedThread?>

  /// Loads libcurl, the first time, and starts the thread.
  ///
  /// Throws `LibraryUnavailableError` when there is no libcurl, `NamedThread.NotStarted` when the system has no thread.
  public init(_ configuration: Configuration) throws {
    let transfers = try Transfers(configuration)
    self.transfers = transfers
    // The thread knows the transfers and not the client, so that a client that nobody holds goes away.
    thread = LockedState(try NamedThread(name: "http-client") { transfers.run() })
  }

  deinit {
    stop()?.detach()
  }

  /// How many transfers run now.
  public var running: Int { transfers.count }

  /// Sends a body by `POST`; whatever status the answer has, it's an answer.
  ///
  /// - Parameters:
  ///   - body: What is sent.
  ///   - type: Its media type.
  ///   - url: Where to, with `http` or `https`. A user and a password in it are sent as basic credentials.
  /// - Returns: The status.
  /// - Throws: Why there is no whole answer.
  nonisolated(nonsending) public func post(
    _ body: [UInt8],
    type: String,
    to url: String
  ) async throws(TransferError) -> Int {
    let order = TransferOrder(body: body, type: type, url: url)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { transfers.start(order, $0) }
    } onCancel: {
      transfers.cancel(order)
    }
    return try result.get()
  }

  /// Cancels what still runs and returns when the thread has ended. What is asked for later is cancelled too.
  ///
  /// Blocks its caller, for a moment. A second call returns at once.
  public func shutDown() { stop()?.join() }

  /// Has the thread end, and hands it out to be joined or detached, once.
  private func stop() -> NamedThread? {
    transfers.close()
    return thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
  }
}

/// The limits of the HTTP server, their defaults, and what happens when a limit is exceeded.
///
/// Sizes are in bytes. A limit is inclusive: a message of exactly that size is accepted.
public struct Limits: Sendable, Equatable {
  /// The longest request line, without its line end. A longer one gets 414.
  public var requestLine = 8 * 1024
  /// The largest header section, with its line ends. A larger one gets 431. The same limit applies
  /// to a trailer section (431), and to the extensions and leading zeros of all chunks of one body
  /// together (400).
  public var headerSection = 32 * 1024
  /// The most fields in a header section, and in a trailer section. A request with more gets 431.
  public var headerFields = 100
  /// The largest request body, after chunked decoding. A larger one gets 413. A route may set a
  /// lower limit.
  public var body = 1024 * 1024
  /// The most memory for the bodies of all running requests. If a body does not fit, its request
  /// gets 503 with `Retry-After`. Parsed bodies may take as much again: above that, bodies wait.
  public var bodyMemory = 256 * 1024 * 1024
  /// The most memory of the server for output that clients have not read yet.
  ///
  /// When it is used up, a `GET` with a long response gets 503 with `Retry-After`. If other output
  /// does not fit into the kernel's socket buffer, the server closes the connection. One connection
  /// may exceed the limit if no other connection has unread output.
  public var outputMemory = 256 * 1024 * 1024
  /// The longest line of the chunked coding: a chunk size with its extensions, or a trailer field.
  /// A longer one gets 400.
  public var chunkLine = 1024
  /// If a handler does not read a body, the server discards up to this much of it to keep the
  /// connection. If more follows, the server closes the connection.
  public var discardedBody = 64 * 1024

  /// How long a head may take from its first byte to its last. A slower one gets 408.
  public var headTime: Duration = .seconds(10)
  /// How long a body may make no progress: no byte arrives, or too few to reach `bodyRate`. Each
  /// period is checked alone, so a fast start earns no extra time. A slower request gets 408.
  public var bodyGrace: Duration = .seconds(10)
  /// The lowest rate of a body in bytes per second, averaged over `bodyGrace`.
  public var bodyRate = 1024
  /// How long a connection may be idle. After this time, the server closes it.
  public var idleTime: Duration = .seconds(75)
  /// How long a client may read more slowly than `responseRate`. After this time, the server closes
  /// the connection.
  public var outputStall: Duration = .seconds(30)
  /// The lowest rate at which a client reads, in bytes per second, averaged over `outputStall`.
  public var responseRate = 1024
  /// How long a closing connection waits for the client to read the last response.
  public var lingerTime: Duration = .seconds(2)

  /// How many connections may be open. A further connection gets 503 with `Retry-After`, and the
  /// server closes it.
  public var connections = 10_000
  /// How long running requests may take while the server drains. After this time, the server closes
  /// their connections.
  public var drainTime: Duration = .seconds(8)
  /// How long a draining server waits for the next bytes of an incomplete head. After this time,
  /// the request gets 408.
  public var drainSilence: Duration = .seconds(1)

  /// The default limits.
  public init() {}
}

/// Everything the engine bears with, in one place: each limit with its default and what happens past it.
///
/// Sizes are bytes. A limit is inclusive: what is exactly as large as the limit is accepted.
public struct Limits: Sendable, Equatable {
  /// The longest request line, without its line end. Past it: 414. Default 8 KiB.
  public var requestLine = 8 * 1024
  /// The largest header section, with its line ends. Past it: 431. Default 32 KiB.
  ///
  /// A trailer section may be as large (431), and so may what the lines of a body's chunks have beside sizes (400).
  public var headerSection = 32 * 1024
  /// The most header fields of a request. Past it: 431. Default 100.
  public var headerFields = 100
  /// The largest request body, after the chunked coding is taken off. Past it: 413. Default 1 MiB. A route may take less.
  public var body = 1024 * 1024
  /// How much memory the bodies of all requests at work may take in the whole server, counted as they come. Past it: 503
  /// with `Retry-After` to whoever sends more. Default 256 MiB.
  public var bodyMemory = 256 * 1024 * 1024
  /// How much output may wait in memory for clients to take it, in the whole server. Past it: 503
  /// with `Retry-After` to a `GET` whose response is long; a connection with other output that
  /// neither the kernel nor this memory takes is closed. What would be past it is kept all the same
  /// if no other output waits. Default 256 MiB.
  public var outputMemory = 256 * 1024 * 1024
  /// The longest line of the chunked coding: a chunk's size with its extensions, or a trailer field.
  /// Past it: 400. Default 1 KiB.
  public var chunkLine = 1024
  /// How much of a body that no handler wanted is read and thrown away so that the connection can be kept.
  /// Past it the connection is closed. Default 64 KiB.
  public var discardedBody = 64 * 1024

  /// How long a head may take from its first byte to its last. Past it: 408. Default 10 s.
  public var headTime: Duration = .seconds(10)
  /// How long a body may make no progress: nothing comes, or on average less than `bodyRate`. Past it: 408. What came
  /// before, however fast, buys no time. Default 10 s.
  public var bodyGrace: Duration = .seconds(10)
  /// The slowest a body may come, in bytes a second over `bodyGrace`. Default 1 KiB/s.
  public var bodyRate = 1024
  /// How long a connection may be kept without a request. Past it it's closed. Default 75 s.
  public var idleTime: Duration = .seconds(75)
  /// How long a client may take too little of the output that waits for it: nothing, or on average
  /// less than `responseRate`. Past it the connection is closed. Default 30 s.
  public var outputStall: Duration = .seconds(30)
  /// The slowest a client may take output that waits for it, in bytes a second over `outputStall`.
  /// Default 1 KiB/s.
  public var responseRate = 1024
  /// How long a closing connection waits for the client to read the last answer. Default 2 s.
  public var lingerTime: Duration = .seconds(2)

  /// Open connections of the whole server. Past it: 503 with `Retry-After`, then close. Default 10,000.
  public var connections = 10_000
  /// How long running requests may go on after the server was told to stop. Past it they are cut. Default 8 s.
  public var drainTime: Duration = .seconds(8)
  /// How long the server, once it was told to stop, waits for more of a head of which a part has come. Past it: 408.
  /// Default 1 s.
  public var drainSilence: Duration = .seconds(1)

  /// The defaults.
  public init() {}
}

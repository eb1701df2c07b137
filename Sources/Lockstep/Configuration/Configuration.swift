import HTTP

/// All that can be set about a server. Every value has its default here and nowhere else.
public struct Configuration: Sendable {
  /// The name or address to listen on.
  public var host = "127.0.0.1"
  /// The port; 0 takes a free one.
  public var port = 8080
  /// The SQLite file that holds everything.
  public var data = "./lockstep.db"
  /// How many event loops; nil stands for one a core.
  public var threads: Int?
  /// The origins whose pages may use the server from a browser; empty switches CORS off.
  public var corsOrigins: [String] = []
  /// What the HTTP engine bears with.
  public var limits = Limits()
  /// How log lines are written.
  public var logFormat = LogFormat.text
  /// The least level that is logged.
  public var logLevel = LogLevel.info
  /// Whether every request gets a log line.
  public var accessLog = false

  /// The defaults.
  public init() {}
}

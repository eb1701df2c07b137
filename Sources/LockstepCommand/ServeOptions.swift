import Lockstep
import LockstepHTTP
import LockstepScreens

/// Every option of `lockstep serve`. The parser, the variables and the help are made from this table.
enum ServeOptions {
  static let all = serving + accounts + storage + waiting + limits + backups + log

  static let defaults = Configuration()

  private static let serving: [Option] = [
    Option(
      name: "--host",
      placeholder: "<address>",
      group: .server,
      help: "The name or address to listen on; :: takes IPv6 and IPv4. Default \(defaults.host): this machine only."
    ) { configuration, value throws(Option.ValueError) in
      guard !value.isEmpty else { throw Option.ValueError(reason: "it is empty") }
      configuration.host = value
    },
    Option(
      name: "--port",
      placeholder: "<number>",
      group: .server,
      help: "The port to listen on; 0 takes a free one. Default \(defaults.port)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.port = try OptionValue.integer(value, in: 0...65_535)
    },
    Option(
      name: "--data",
      placeholder: "<file>",
      group: .server,
      help: "The SQLite file that holds everything; made when it isn't there. Default \(defaults.data)."
    ) { configuration, value throws(Option.ValueError) in
      guard !value.isEmpty else { throw Option.ValueError(reason: "it is empty") }
      configuration.data = value
    },
    Option(
      name: "--threads",
      placeholder: "<number>",
      group: .server,
      help: "How many event loops, each a thread. Default: one a core."
    ) { configuration, value throws(Option.ValueError) in
      configuration.threads = try OptionValue.integer(value, in: 1...256)
    },
    Option(
      name: "--cors-origin",
      placeholder: "<origins>",
      group: .server,
      help: "Origins whose pages may use the server from a browser, separated by commas, such as https://app.example; "
        + "* allows all. Default: none, CORS is off."
    ) { configuration, value throws(Option.ValueError) in
      configuration.corsOrigins = try OptionValue.origins(value)
    },
    Option(
      name: "--trusted-proxy",
      placeholder: "<networks>",
      group: .server,
      help:
        "Proxies that are believed whom they were asked by, separated by commas: addresses or networks such as 10.0.0.0/8, "
        + "fd00::/8. A request from one of them counts as that of the rightmost address in X-Forwarded-For that isn't one of "
        + "them, in the access log and for all limits by address. Name only those that write this field themselves. "
        + "Default: none, and the field says nothing."
    ) { configuration, value throws(Option.ValueError) in
      configuration.trustedProxies = try OptionValue.networks(value)
    },
    Option(
      name: "--profile-upstream",
      placeholder: "<URL>",
      group: .server,
      help:
        "Where the profile that a screen saves is sent first, by POST as {\"user\",\"companyName\",\"position\"} with the "
        + "user's id: the screen saves only what this https:// or http:// URL answers with 2xx. PATCH /v1/profile and "
        + "POST /v1/actions don't ask it. It has 5s to take the connection and 15s in all; redirects aren't followed. A user "
        + "and a password in the URL are sent as basic credentials; anybody on this machine can read arguments with ps: "
        + "better set the variable LOCKSTEP_PROFILE_UPSTREAM. https_proxy and no_proxy hold as for curl. Needs libcurl, and "
        + "about 10MiB more. Default: none, profiles are saved at once.",
      isSecret: true
    ) { configuration, value throws(Option.ValueError) in
      do throws(UpstreamURL.Fault) {
        configuration.profileUpstream = try UpstreamURL(value)
      } catch {
        throw Option.ValueError(reason: "it \(error.reason)")
      }
    },
  ]

  private static let limits: [Option] = [
    Option(
      name: "--max-connections",
      placeholder: "<number>",
      group: .limits,
      help:
        "Open connections; past it 503 and close, to as many again as far as the limit on open files reaches, and past "
        + "those a close without an answer. Each takes an open file. Default \(defaults.limits.connections)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.limits.connections = try OptionValue.integer(value, in: 1...10_000_000)
    },
    Option(
      name: "--rate-limit",
      placeholder: "<number>/<time>[,<burst>]",
      group: .limits,
      help:
        "How many requests each token may make, such as 100/10s; behind a comma how many at once, otherwise as many; past it 429. "
        + "What isn't used comes back steadily. Answers then say how much is left, in RateLimit. Default: any number."
    ) { configuration, value throws(Option.ValueError) in
      configuration.tokenRate = try OptionValue.rate(value)
    },
    Option(
      name: "--rate-limit-address",
      placeholder: "<number>/<time>[,<burst>]",
      group: .limits,
      help:
        "The same for each address, of IPv6 each /64, whoever asks; /healthz, /readyz and /metrics don't count. Behind a proxy name "
        + "it with --trusted-proxy, or all clients are one. Default: any number."
    ) { configuration, value throws(Option.ValueError) in
      configuration.addressRate = try OptionValue.rate(value)
    },
    size(
      "--max-request-line",
      "The longest request line; past it 414.",
      \.requestLine,
      64...1_048_576
    ),
    size(
      "--max-header-section",
      "The largest header section; past it 431.",
      \.headerSection,
      64...16_777_216
    ),
    Option(
      name: "--max-header-fields",
      placeholder: "<number>",
      group: .limits,
      help: "The most header fields; past it 431. Default \(defaults.limits.headerFields)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.limits.headerFields = try OptionValue.integer(value, in: 1...10_000)
    },
    size("--max-body", "The largest request body; past it 413.", \.body, 0...1_073_741_824),
    time("--head-timeout", "How long a request's head may take to arrive; past it 408.", \.headTime),
    size(
      "--max-body-memory",
      "How much memory the bodies of all requests at work may take together; past it 503 to who sends more. At least "
        + "--max-body, or the largest would never fit.",
      \.bodyMemory,
      0...1_099_511_627_776
    ),
    time("--body-grace", "How long a body may make no progress, whatever came before; past it 408.", \.bodyGrace),
    size(
      "--body-rate",
      "The least that counts as progress, in bytes a second over --body-grace.",
      \.bodyRate,
      1...1_073_741_824
    ),
    size(
      "--max-output-memory",
      "How much memory output may take that clients have yet to read, in all; past it 503 to a GET with a long answer, "
        + "and a connection that can't take a short one either is closed. One answer alone may be longer.",
      \.outputMemory,
      0...1_099_511_627_776
    ),
    time("--idle-timeout", "How long a connection is kept without a request.", \.idleTime),
    time(
      "--output-timeout",
      "How long a client may take nothing of its answer, or less than --response-rate; past it the connection is closed.",
      \.outputStall
    ),
    size(
      "--response-rate",
      "The least that a client must take of an answer that waits for it, in bytes a second over --output-timeout.",
      \.responseRate,
      1...1_073_741_824
    ),
    time(
      "--drain-timeout",
      "How long running requests may go on once the server stops; past it they are cut. With more than about 8s it may "
        + "take longer than 10s to end, and who supervises it may kill it first: docker does after 10s.",
      \.drainTime
    ),
  ]

  private static let log: [Option] = [
    Option(
      name: "--log-format",
      placeholder: "text|json",
      group: .log,
      help: "How log lines are written to standard error. Default \(defaults.logFormat.rawValue)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.logFormat = try OptionValue.choice(value)
    },
    Option(
      name: "--log-level",
      placeholder: "debug|info|warning|error",
      group: .log,
      help: "The least level that is logged. Default \(defaults.logLevel.rawValue)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.logLevel = try OptionValue.choice(value)
    },
    Option(
      name: "--access-log",
      placeholder: nil,
      group: .log,
      help:
        "Log a line for every request, at level info: client, method, path, status, bytes, time; of what was refused "
        + "before it was a request: client, status, reason. Default: off."
    ) { configuration, value throws(Option.ValueError) in
      configuration.accessLog = try OptionValue.boolean(value)
    },
  ]

  private static func size(
    _ name: String,
    _ help: String,
    _ path: WritableKeyPath<Limits, Int> & Sendable,
    _ range: ClosedRange<Int>
  ) -> Option {
    Option(
      name: name,
      placeholder: "<size>",
      group: .limits,
      help: "\(help) Default \(OptionValue.text(size: defaults.limits[keyPath: path]))."
    ) { configuration, value throws(Option.ValueError) in
      configuration.limits[keyPath: path] = try OptionValue.size(value, in: range)
    }
  }

  private static func time(
    _ name: String,
    _ help: String,
    _ path: WritableKeyPath<Limits, Duration> & Sendable
  ) -> Option {
    Option(
      name: name,
      placeholder: "<time>",
      group: .limits,
      help: "\(help) Default \(OptionValue.text(time: defaults.limits[keyPath: path]))."
    ) { configuration, value throws(Option.ValueError) in
      configuration.limits[keyPath: path] = try OptionValue.time(value)
    }
  }
}

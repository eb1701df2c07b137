import Lockstep

/// The options about users: who may come in, and how much they may have.
extension ServeOptions {
  static let accounts: [Option] = [
    Option(
      name: "--registration",
      placeholder: "open|closed",
      group: .accounts,
      help: "Whether anybody may sign up; closed lets in only who has an account. "
        + "Default \(defaults.accounts.registration.rawValue)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.accounts.registration = try OptionValue.choice(value)
    },
    Option(
      name: "--token-days",
      placeholder: "<days>",
      group: .accounts,
      help: "How long after its last use a device's token ends. "
        + "Default \(OptionValue.text(days: defaults.accounts.tokenLifetime))."
    ) { configuration, value throws(Option.ValueError) in
      let days = try OptionValue.integer(value, in: 1...36_500)
      configuration.accounts.tokenLifetime = .seconds(days * 86_400)
    },
    number(
      "--password-min",
      "How many characters a new password must have.",
      .accounts,
      \.accounts.passwordRules.minimumCharacters,
      1...256
    ),
    Option(
      name: "--admin-token",
      placeholder: "<token>",
      group: .accounts,
      help: "The administrator's token, which /v1/admin asks for. Anybody on this machine can read arguments with ps: "
        + "better set the variable LOCKSTEP_ADMIN_TOKEN. Default: none, and no administrator.",
      isSecret: true
    ) { configuration, value throws(Option.ValueError) in
      // What a header field can carry, so that a token that nobody can send isn't set in vain.
      guard !value.isEmpty, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw Option.ValueError(reason: "it must be characters that can be seen, of ASCII and without spaces")
      }
      configuration.administratorToken = value
    },
  ]

  static let storage: [Option] = [
    number("--max-favorites", "Favorites of a user; past it 507.", .storage, \.favoritesQuota.items, quota),
    bytes("--max-favorites-bytes", "What a user's favorites may take as JSON; past it 507.", \.favoritesQuota.bytes),
    number(
      "--max-suites",
      "Suites of defaults in which a user has values; past it 507.",
      .storage,
      \.defaultsQuota.suites,
      quota
    ),
    number("--max-default-keys", "Keys of a suite; past it 507.", .storage, \.defaultsQuota.keys, quota),
    bytes("--max-suite-bytes", "What a suite's keys and values may take as JSON; past it 507.", \.defaultsQuota.bytes),
    number(
      "--history-days",
      "For how many days what happened is kept, for the past and the feed; the present is kept for ever.",
      .storage,
      \.history.days,
      0...36_500
    ),
    number(
      "--history-min",
      "How many of a user's last revisions are kept even when they are older.",
      .storage,
      \.history.revisions,
      1...1_000_000_000
    ),
    bytes(
      "--max-history-bytes",
      "What a user's history may take as text, 1MiB or more; past it the oldest goes, however young it is.",
      \.history.bytes,
      // With much less, each large write would be all there is, and every one would copy the whole state.
      least: 1_048_576
    ),
    Option(
      name: "--cache-mb",
      placeholder: "<number>",
      group: .storage,
      help: "About how many MiB the states of the users who are about may take in memory; the others' are read when "
        + "they come. Default \(defaults.cacheBytes / 1_048_576)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.cacheBytes = try OptionValue.integer(value, in: 1...1_048_576) * 1_048_576
    },
  ]

  static let waiting: [Option] = [
    Option(
      name: "--max-wait",
      placeholder: "<seconds>",
      group: .waiting,
      help: "The longest that a request is held until there is something new; who asks for more is lowered to it. Many "
        + "proxies and clients give up at 60. Default \(defaults.longestWait)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.longestWait = try OptionValue.integer(value, in: 0...86_400)
    },
    number(
      "--max-waits-per-user",
      "How many requests may wait for one user's state; past it 429.",
      .waiting,
      \.waiting.perUser,
      quota
    ),
    number("--max-waits", "How many requests may wait in all; past it 429.", .waiting, \.waiting.inAll, quota),
  ]

  private static let quota = 0...1_000_000_000

  private static func number(
    _ name: String,
    _ help: String,
    _ group: Option.Group,
    _ path: WritableKeyPath<Configuration, Int> & Sendable,
    _ range: ClosedRange<Int>
  ) -> Option {
    Option(
      name: name,
      placeholder: "<number>",
      group: group,
      help: "\(help) Default \(defaults[keyPath: path])."
    ) { configuration, value throws(Option.ValueError) in
      configuration[keyPath: path] = try OptionValue.integer(value, in: range)
    }
  }

  private static func bytes(
    _ name: String,
    _ help: String,
    _ path: WritableKeyPath<Configuration, Int> & Sendable,
    least: Int = 0
  ) -> Option {
    Option(
      name: name,
      placeholder: "<size>",
      group: .storage,
      help: "\(help) Default \(OptionValue.text(size: defaults[keyPath: path]))."
    ) { configuration, value throws(Option.ValueError) in
      configuration[keyPath: path] = try OptionValue.size(value, in: least...1_099_511_627_776)
    }
  }
}

import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON

extension Configuration {
  /// The settings for administrators, without secrets.
  var json: JSON {
    [
      "host": .string(host), "port": number(port), "data": store == nil ? .string(data) : .null,
      "store": .string(store == nil ? "sqlite" : "postgresql"),
      "nodeAddress": nodeAddress.map { .string("\($0)") } ?? .null,
      "reads": .string(reads.rawValue), "threads": number(threads ?? ProcessLimits.cores),
      "registration": .string(accounts.registration.rawValue),
      "trustedIssuers": .array(trustedIssuers.map { .string($0.name) }),
      "tokenDays": .integer(accounts.tokenLifetime.components.seconds / 86_400),
      "passwordMin": number(accounts.passwordRules.minimumCharacters), "inspector": .bool(inspector),
      "corsOrigins": .array(corsOrigins.map(JSON.string)),
      "trustedProxies": .array(trustedProxies.map { .string("\($0)") }),
      "profileUpstream": profileUpstream.map { .string("\($0)") } ?? .null,
      "webhookAllowPrivate": .bool(webhookAllowPrivate),
      "smtp": mail.relay.map { .string("\($0)") } ?? .null,
      "mailFrom": mail.sender.map { .string($0.address) } ?? .null,
      "publicURL": mail.publicURL.map { .string("\($0)") } ?? .null,
      "mailTemplates": mail.templates?.folder.map { .string($0) } ?? .null,
      "historyDays": number(history.days), "historyMin": number(history.revisions),
      "maxHistoryBytes": number(history.bytes), "maxKeyBytes": number(history.keyBytes),
      "cacheBytes": number(cacheBytes),
      "maxFavorites": number(favoritesQuota.elements), "maxFavoritesBytes": number(favoritesQuota.bytes),
      "maxSuites": number(defaultsQuota.suites), "maxDefaultKeys": number(defaultsQuota.keys),
      "maxSuiteBytes": number(defaultsQuota.bytes),
      "maxWait": number(longestWait), "maxWaitsPerUser": number(waiting.perUser), "maxWaits": number(waiting.inAll),
      "maxConnections": number(limits.connections), "maxBody": number(limits.body),
      "maxBodyMemory": number(limits.bodyMemory), "maxOutputMemory": number(limits.outputMemory),
      "rateLimit": rate(tokenRate), "rateLimitAddress": rate(addressRate),
      "backupDir": backups.folder.map(JSON.string) ?? .null,
      "backupEverySeconds": .integer(backups.every.components.seconds), "backupKeep": number(backups.keep),
      "logFormat": .string("\(logFormat)"), "logLevel": .string("\(logLevel)"), "accessLog": .bool(accessLog),
    ]
  }

  private func number(_ value: Int?) -> JSON { value.map { .integer(Int64($0)) } ?? .null }

  private func rate(_ limit: RateLimit?) -> JSON {
    guard let limit else { return .null }
    return ["requests": number(limit.requests), "seconds": number(limit.seconds), "burst": number(limit.burst)]
  }
}

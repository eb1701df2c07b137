import LockstepJSON
import LockstepTestSupport
import Testing

/// A device that writes until the server is killed. It remembers what the server acknowledged, and
/// checks after a restart that all of it is there.
struct CrashClient {
  /// One write.
  struct Write {
    enum Change {
      case set(key: String, value: Int)
      case remove(key: String)
      case add(id: String, value: Int)
      case discard(id: String)
      /// Three changes in one transaction: a counter grows, a value is set, a favorite is added or
      /// removed.
      case batch(value: Int, id: String)
    }

    let change: Change
    /// The `Idempotency-Key`, or nil.
    let key: String?
  }

  /// This device's part of the user's state, according to the acknowledged writes.
  struct Expected: Equatable {
    var values: [String: Int] = [:]
    var favorites: [Favorite] = []

    struct Favorite: Equatable {
      let id: String
      var value: Int
    }
  }

  /// The prefix of all keys and ids of this device, so that devices of one user do not overwrite
  /// each other's data.
  let prefix: String
  let token: String
  private var random: SeededNumbers
  private var expected = Expected()
  /// The last write, if it was sent but not acknowledged. The server may or may not have applied
  /// it.
  private var uncertain: Write?
  /// The last acknowledged write that had a key, and its response.
  private var lastKeyed: (write: Write, response: RawResponse)?
  private var writes = 0

  init(prefix: String, token: String, seed: UInt64) {
    self.prefix = prefix
    self.token = token
    random = SeededNumbers(seed: seed)
  }

  // MARK: Writing

  /// Writes until the connection breaks, and calls `acknowledged` after each response.
  mutating func write(to port: Int, acknowledged: () -> Void) async throws {
    let client = try RawClient(port: port)
    while true {
      let write = next()
      guard let response = await Self.exchange(request(write), over: client) else {
        uncertain = write
        return
      }
      try accept(response, to: write)
      acknowledged()
    }
  }

  private mutating func next() -> Write {
    writes += 1
    let name = "\(prefix)\(random.below(6))"
    let key = random.once(in: 2) ? "\(prefix) \(writes)" : nil
    switch random.below(8) {
    case 0...2: return Write(change: .set(key: name, value: writes), key: key)
    case 3 where expected.values[name] != nil: return Write(change: .remove(key: name), key: key)
    case 4 where expected.favorites.contains { $0.id == name }: return Write(change: .discard(id: name), key: key)
    case 3...5: return Write(change: .add(id: name, value: writes), key: key)
    default: return Write(change: .batch(value: writes, id: name), key: "\(prefix) \(writes)")
    }
  }

  private mutating func accept(_ response: RawResponse, to write: Write) throws {
    try #require((200...204).contains(response.status), "\(write): \(response.status) \(response.text)")
    expected.apply(write.change, by: prefix)
    if write.key != nil { lastKeyed = (write, response) }
  }

  // MARK: Checking

  /// Checks that all acknowledged writes are there, and nothing else except perhaps the write that
  /// was sent last.
  mutating func check(at port: Int) async throws {
    let client = try RawClient(port: port)
    let found = try await state(over: client)
    var ifItHappened = expected
    if let uncertain { ifItHappened.apply(uncertain.change, by: prefix) }
    try #require(found == expected || found == ifItHappened, "\(prefix): \(found), and not \(expected)")
    if let lastKeyed {
      let again = try #require(await Self.exchange(request(lastKeyed.write), over: client))
      #expect(again.field("Idempotency-Replayed") == "true")
      #expect(
        again.isSame(as: lastKeyed.response),
        "the repeated request got \(again), but before \(lastKeyed.response)"
      )
    }
    guard let uncertain else { return }
    // Sends the unacknowledged write again, as a client's outbox does.
    let response = try #require(await Self.exchange(request(uncertain), over: client))
    let hadHappened = found == ifItHappened && found != expected
    if uncertain.key != nil {
      try accept(response, to: uncertain)
      #expect((response.field("Idempotency-Replayed") == "true") == hadHappened, "\(uncertain)")
    } else {
      // Without a key, the second removal of an element finds nothing.
      let isGone = hadHappened && response.status == 404
      if isGone { expected.apply(uncertain.change, by: prefix) } else { try accept(response, to: uncertain) }
    }
    self.uncertain = nil
    let after = try await state(over: client)
    try #require(after == expected, "\(prefix): \(after), and not \(expected)")
  }

  /// Checks that the states that are rebuilt from the journal equal the tables, byte for byte.
  func checkRebuilt(at port: Int) async throws {
    let client = try RawClient(port: port)
    for path in ["/v1/favorites", "/v1/defaults/standard", "/v1/profile"] {
      let present = try #require(await Self.exchange(request("GET", path), over: client))
      let cursor = try #require(present.field("Cursor"))
      let rebuilt = try #require(await Self.exchange(request("GET", "\(path)?at=\(cursor)"), over: client))
      #expect(rebuilt.status == 200 && rebuilt.body == present.body, "\(path)")
      #expect(rebuilt.field("ETag") == present.field("ETag"))
    }
  }

  private func state(over client: RawClient) async throws -> Expected {
    var found = Expected()
    let suite = try #require(await Self.exchange(request("GET", "/v1/defaults/standard"), over: client))
    for (name, value) in try JSON(parsing: suite.body)["values"]?.objectValue ?? [:] where name.hasPrefix(prefix) {
      found.values[name] = value.intValue
    }
    let list = try #require(await Self.exchange(request("GET", "/v1/favorites"), over: client))
    for item in try JSON(parsing: list.body)["items"]?.arrayValue ?? [] {
      guard let id = item["id"]?.stringValue, id.hasPrefix(prefix) else { continue }
      found.favorites.append(Expected.Favorite(id: id, value: item["data"]?.intValue ?? -1))
    }
    return found
  }

  // MARK: Requests

  private func request(_ write: Write) -> String {
    let fields = write.key.map { ["Idempotency-Key: \($0)"] } ?? []
    switch write.change {
    case .set(let key, let value): return request("PUT", "/v1/defaults/standard/\(key)", "\(value)", fields)
    case .remove(let key): return request("DELETE", "/v1/defaults/standard/\(key)", nil, fields)
    case .add(let id, let value): return request("PUT", "/v1/favorites/\(id)", #"{"data":\#(value)}"#, fields)
    case .discard(let id): return request("DELETE", "/v1/favorites/\(id)", nil, fields)
    case .batch(let value, let id):
      let actions: JSON = [
        ["module": "defaults", "type": "increment", "payload": ["key": .string(prefix + "count"), "by": 1]],
        [
          "module": "defaults", "type": "set",
          "payload": ["key": .string(prefix + "batch"), "value": .integer(Int64(value))],
        ],
        ["module": "favorites", "type": "toggle", "payload": ["id": .string(id), "data": .integer(Int64(value))]],
      ]
      return request("POST", "/v1/actions", (["actions": actions] as JSON).description, fields)
    }
  }

  private func request(_ method: String, _ path: String, _ body: String? = nil, _ fields: [String] = []) -> String {
    let length = body.map { ["Content-Length: \($0.utf8.count)"] } ?? []
    let lines = ["\(method) \(path) HTTP/1.1", "Host: h", "Authorization: Bearer \(token)"] + fields + length
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
  }

  /// Returns the response, or nil if the connection ends before the response is complete.
  private static func exchange(_ request: String, over client: RawClient) async -> RawResponse? {
    do {
      try await client.send(request)
      return try await client.response()
    } catch {
      return nil
    }
  }
}

extension CrashClient.Expected {
  /// Applies a change.
  fileprivate mutating func apply(_ change: CrashClient.Write.Change, by prefix: String) {
    switch change {
    case .set(let key, let value): values[key] = value
    case .remove(let key): values[key] = nil
    case .add(let id, let value):
      if let place = favorites.firstIndex(where: { $0.id == id }) {
        favorites[place].value = value
      } else {
        favorites.append(Favorite(id: id, value: value))
      }
    case .discard(let id): favorites.removeAll { $0.id == id }
    case .batch(let value, let id):
      values[prefix + "count", default: 0] += 1
      values[prefix + "batch"] = value
      if favorites.contains(where: { $0.id == id }) {
        favorites.removeAll { $0.id == id }
      } else {
        favorites.append(Favorite(id: id, value: value))
      }
    }
  }
}

extension RawResponse {
  /// Whether another response repeats this one. The date and the field that marks a repeated
  /// response may differ.
  fileprivate func isSame(as other: RawResponse) -> Bool {
    func lasting(_ fields: [String]) -> [String] {
      fields.filter { !$0.hasPrefix("Date:") && !$0.hasPrefix("Idempotency-Replayed:") }.sorted()
    }
    return status == other.status && body == other.body && lasting(fields) == lasting(other.fields)
  }
}

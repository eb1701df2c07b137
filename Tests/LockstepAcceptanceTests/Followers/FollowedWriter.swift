import LockstepJSON
import LockstepTestSupport

/// Makes random writes to the followed users: every kind of write, on all collections.
struct FollowedWriter {
  static let administrator = "the-administrator"
  static let suites = ["standard", "editor", "App.v2_b-1"]

  private var random: SeededNumbers
  private var number = 0

  init(seed: UInt64) {
    random = SeededNumbers(seed: seed)
  }

  /// Returns the next write of one of the users.
  mutating func next(of tokens: [String]) -> String {
    number += 1
    // Most writes are of the first user, so that this user gets more history than the server keeps.
    let token = random.once(in: 4) ? random.one(of: tokens) : tokens[0]
    if random.once(in: 20) { return registration() }
    switch random.below(13) {
    case 0, 1: return request("PUT", favorite(), token, content(index: random.once(in: 2)))
    case 2:
      let types = ["application/json", "application/merge-patch+json"]
      return request("PATCH", favorite(), token, content(index: false), type: random.one(of: types))
    case 3:
      let operations: JSON = [["op": "add", "path": "/title", "value": .string("t\(number)")]]
      return request("PATCH", favorite(), token, operations, type: "application/json-patch+json")
    case 4: return request("DELETE", favorite(), token)
    case 5, 6: return request("PUT", favorite() + "/position", token, ["index": .integer(Int64(random.below(30)))])
    case 7: return request("PUT", suite() + "/\(Self.escaped(key()))", token, value())
    case 8: return request("DELETE", suite() + "/\(Self.escaped(key()))", token)
    case 9:
      let types = ["application/json", "application/merge-patch+json"]
      return request("PATCH", suite(), token, .object(values(removals: true)), type: random.one(of: types))
    case 10: return request("PATCH", "/v1/profile", token, .object(profile()))
    default: return request("POST", "/v1/actions", token, ["actions": .array(actions())])
    }
  }

  /// A write that changes every collection of this user, so that every follower is notified.
  mutating func everything(of token: String) -> String {
    number += 1
    var actions: [JSON] = [
      action("favorites", "add", ["id": "every", "title": .string("\(number)")]),
      action("profile", "save", ["companyName": .string("c\(number)"), "position": "p"]),
    ]
    for suite in Self.suites {
      let value = JSON.integer(Int64(number))
      actions.append(action("defaults", "set", ["suite": .string(suite), "key": "every", "value": value]))
    }
    return request("POST", "/v1/actions", token, ["actions": .array(actions)])
  }

  // MARK: The parts of a write

  private mutating func registration() -> String {
    let suite = "/v1/admin/registered/\(random.one(of: Self.suites))"
    let isWhole = random.once(in: 4)
    let values = JSON.object(values(removals: !isWhole))
    return request(isWhole ? "PUT" : "PATCH", suite, Self.administrator, values)
  }

  private mutating func actions() -> [JSON] {
    (0...random.below(6)).map { _ in
      let (id, key) = (JSON.string(id()), JSON.string(key()))
      let suite = JSON.string(random.one(of: Self.suites))
      switch random.below(12) {
      case 0, 1: return action("favorites", "add", ["id": id, "data": value()])
      case 2: return action("favorites", "add", ["id": id, "index": .integer(Int64(random.below(9)))])
      case 3, 4: return action("favorites", "toggle", ["id": id, "title": .string("t\(number)")])
      case 5: return action("defaults", "set", ["suite": suite, "key": key, "value": value()])
      case 6: return action("defaults", "merge", ["suite": suite, "values": .object(values(removals: true))])
      case 7: return action("defaults", "increment", ["suite": suite, "key": "count", "by": 1])
      case 8 where random.once(in: 4): return action("defaults", "clear", ["suite": suite])
      case 9 where random.once(in: 8): return action("favorites", "clear", [:])
      case 10: return action("favorites", "move", ["id": id, "index": .integer(Int64(random.below(30)))])
      case 11: return action("favorites", "remove", ["id": id])
      default: return action("profile", "save", profile())
      }
    }
  }

  private func action(_ module: String, _ type: String, _ payload: JSONObject) -> JSON {
    ["module": .string(module), "type": .string(type), "payload": .object(payload)]
  }

  private mutating func content(index: Bool) -> JSON {
    var content: JSONObject = [:]
    if random.once(in: 2) { content["title"] = .string("t\(random.below(3))") }
    if random.once(in: 2) { content["data"] = value() }
    if index { content["index"] = .integer(Int64(random.below(30))) }
    return .object(content)
  }

  private mutating func profile() -> JSONObject {
    ["companyName": .string("c\(random.below(4))"), "position": .string("p\(random.below(4))")]
  }

  private mutating func values(removals: Bool) -> JSONObject {
    JSONObject((0...random.below(3)).map { _ in (key(), removals && random.once(in: 3) ? .null : value()) })
  }

  private mutating func value() -> JSON {
    switch random.below(7) {
    case 0: .bool(random.once(in: 2))
    case 1: .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
    case 2: .double(random.one(of: [0.5, 1.0, -0.0, 1e300]))
    case 3: .array([.null, .integer(Int64(random.below(3))), .string("🌌\u{2028}\n\"")])
    case 4: .object(["a": .integer(Int64(random.below(3))), "b": .object(["c": .string("é")])])
    // There are few values, so that some repeat.
    default: .string("v\(random.below(3))")
    }
  }

  private mutating func id() -> String {
    random.once(in: 5) ? random.one(of: ["a b", "é/ä?", "🌌", "%41", "\"\\"]) : "photo:\(random.below(24))"
  }

  private mutating func key() -> String {
    random.once(in: 6) ? random.one(of: ["e\u{301}", "~/x", ""]) : "k\(random.below(8))"
  }

  // MARK: Requests

  private mutating func favorite() -> String { "/v1/favorites/\(Self.escaped(id()))" }

  private mutating func suite() -> String { "/v1/defaults/\(random.one(of: Self.suites))" }

  private func request(
    _ method: String,
    _ path: String,
    _ token: String,
    _ body: JSON? = nil,
    type: String = "application/json"
  ) -> String {
    let text = body?.description ?? ""
    var lines = ["\(method) \(path) HTTP/1.1", "Host: h", "Authorization: Bearer \(token)"]
    if body != nil { lines += ["Content-Type: \(type)", "Content-Length: \(text.utf8.count)"] }
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + text
  }

  /// A part of a path, percent-encoded.
  static func escaped(_ text: String) -> String {
    text.utf8.map { byte in
      let isPlain = (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
      let digits = String(byte, radix: 16, uppercase: true)
      return isPlain ? String(UnicodeScalar(byte)) : "%" + (digits.count < 2 ? "0" : "") + digits
    }.joined()
  }
}

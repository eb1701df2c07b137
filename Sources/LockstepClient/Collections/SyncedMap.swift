import LockstepCollections
import LockstepJSON
import LockstepReactor

/// Keys and values of the user, such as a suite of the user defaults.
public final class SyncedMap: ShownView {
  /// The name of the collection, such as `defaults/standard`.
  public let name: String
  private let module: String
  private let scope: JSONObject
  private let client: any ActionWriter
  fileprivate let latest: Latest<MapVersion>

  init(_ name: String, module: String, scope: JSONObject = [:], _ client: any ActionWriter, _ shown: Shown) {
    (self.name, self.module, self.scope, self.client) = (name, module, scope, client)
    latest = Latest(MapVersion(map: MapState(), sequence: 0))
    show(shown)
  }

  func show(_ shown: Shown) {
    let present = latest.value
    guard shown.sequence > present.sequence || shown.sequence == 0 else { return }
    latest.publish(MapVersion(map: shown.state.map(CollectionName(text: name)), sequence: shown.sequence))
  }

  /// The value of a key; nil if the key has no value, or if the type cannot read it.
  public func value<Value: Decodable & Sendable>(_ key: String, as type: Value.Type = Value.self) -> Value? {
    latest.value.value(key, as: type)
  }

  /// The keys that have a value, in order.
  public var keys: [String] { latest.value.map.values.map(\.key.text) }

  /// The present value of a key at once, then each new value. Nil while the key has no value.
  public func values<Value: Decodable & Equatable & Sendable>(
    of key: String,
    as type: Value.Type = Value.self
  ) -> some AsyncSequence<Value?, Never> & Sendable { MapValuesSequence<Value>(map: self, key: key) }

  /// Sets the value of a key.
  ///
  /// With `ifUnchanged`, the server refuses the write if another device has changed the key since this device has
  /// seen it. With `resolve`, the app merges the two values instead.
  @discardableResult
  public func set<Value: Codable & Sendable>(
    _ key: String,
    _ value: Value,
    ifUnchanged: Bool = false,
    resolve: ConflictResolver<Value>? = nil
  ) async throws -> PendingWrite {
    let condition = WriteCondition(ifUnchanged: ifUnchanged, mine: value, resolve: resolve) { [self] merged in
      [try setting(key, merged)]
    }
    return try await client.write([setting(key, value)], condition: condition)
  }

  /// Removes a key. With `ifUnchanged`, the server refuses the write if another device has changed the key since this
  /// device has seen it.
  @discardableResult
  public func remove(_ key: String, ifUnchanged: Bool = false) async throws -> PendingWrite {
    let condition = ifUnchanged ? WriteCondition() : nil
    return try await client.write([action("remove", ["key": .string(key)])], condition: condition)
  }

  /// Adds to a number. A key without a value begins with 0.
  @discardableResult
  public func increment(_ key: String, by amount: Int = 1) async throws -> PendingWrite {
    try await client.write([incrementing(key, by: amount)])
  }

  /// Sets the keys of an object. The others stay. Null removes a key.
  @discardableResult
  public func merge(_ values: some Encodable & Sendable) async throws -> PendingWrite {
    try await client.write([merging(values)])
  }

  /// Removes all keys.
  @discardableResult
  public func clear() async throws -> PendingWrite { try await client.write([action("clear", [:])]) }

  func setting(_ key: String, _ value: some Encodable) throws -> ClientAction {
    action("set", ["key": .string(key), "value": try ElementCoding.json(value)])
  }

  func incrementing(_ key: String, by amount: Int) -> ClientAction {
    action("increment", ["key": .string(key), "by": JSON(amount)])
  }

  func merging(_ values: some Encodable) throws -> ClientAction {
    action("merge", ["values": .object(try ElementCoding.content(of: values))])
  }

  func action(_ type: String, _ payload: JSONObject) -> ClientAction {
    var whole = scope
    for (name, value) in payload { whole[name] = value }
    return ClientAction(module: module, type: type, payload: .object(whole))
  }
}

struct MapVersion: Sendable, Equatable {
  let map: MapState
  let sequence: Int

  static func == (left: MapVersion, right: MapVersion) -> Bool { left.sequence == right.sequence }

  func value<Value: Decodable>(_ key: String, as type: Value.Type) -> Value? {
    map[key].flatMap { ElementCoding.decode(type, from: $0.encoded) }
  }
}

/// The values of one key.
struct MapValuesSequence<Value: Decodable & Equatable & Sendable>: AsyncSequence, Sendable {
  typealias Failure = Never
  let map: SyncedMap
  let key: String

  func makeAsyncIterator() -> Iterator {
    Iterator(map: map, versions: map.latest.values.makeAsyncIterator(), key: key)
  }

  struct Iterator: AsyncIteratorProtocol {
    /// Keeps the map alive: a released map gets no changes.
    let map: SyncedMap
    var versions: LatestValues<MapVersion>.Iterator
    let key: String
    var seen: Value??
    var seenText: [UInt8]??

    mutating func next(isolation actor: isolated (any Actor)?) async -> Value?? {
      while let version = await versions.next(isolation: actor) {
        let text = version.map[key]?.encoded
        if let seenText, seenText == text { continue }
        seenText = .some(text)
        let value = version.value(key, as: Value.self)
        if let seen, ElementCoding.areSame(seen, value) { continue }
        seen = .some(value)
        return .some(value)
      }
      return nil
    }
  }
}

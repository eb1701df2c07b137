import LockstepCollections
import LockstepJSON
import LockstepReactor

/// An object of the user with fixed members, such as the profile, as a value of a Swift type.
public final class SyncedObject<Value: Codable & Equatable & Sendable>: ShownView {
  /// The name of the module.
  public let name: String
  private let client: any ActionWriter
  fileprivate let latest: Latest<MapVersion>

  init(_ name: String, _ client: any ActionWriter, _ shown: Shown) {
    (self.name, self.client) = (name, client)
    latest = Latest(MapVersion(map: shown.state.map(CollectionName(name)), sequence: shown.sequence))
  }

  func show(_ shown: Shown) {
    guard shown.sequence > latest.value.sequence else { return }
    latest.publish(MapVersion(map: shown.state.map(CollectionName(name)), sequence: shown.sequence))
  }

  /// The object; nil if `Value` cannot read it, for example because a member without a default is missing.
  public var value: Value? { Self.value(of: latest.value) }

  /// The present object at once, then each new one.
  public var values: ObjectValues<Value> { ObjectValues(object: self) }

  /// Sets the members that `changes` has. The others stay. `changes` is a `Value`, or a value of another type with some
  /// of the members. Members that are nil stay too.
  ///
  /// With `ifUnchanged`, the server refuses the write if another device has changed the object since this device has
  /// seen it.
  @discardableResult
  public func save(_ changes: some Encodable & Sendable, ifUnchanged: Bool = false) async throws -> PendingWrite {
    try await client.write([saving(changes)], condition: ifUnchanged ? WriteCondition() : nil)
  }

  /// Sets the members of a whole object. If another device has changed the object since this device has seen it, the
  /// app merges the two objects with `resolve`.
  @discardableResult
  public func save(_ value: Value, resolve: @escaping ConflictResolver<Value>) async throws -> PendingWrite {
    let condition = WriteCondition(ifUnchanged: true, mine: value, resolve: resolve) { [self] merged in
      [try saving(merged)]
    }
    return try await client.write([saving(value)], condition: condition)
  }

  func saving(_ changes: some Encodable) throws -> ClientAction {
    ClientAction(module: name, type: "save", payload: .object(try ElementCoding.content(of: changes)))
  }

  fileprivate static func value(of version: MapVersion) -> Value? {
    var object = JSONObject()
    for (key, value) in version.map.values { object[key.text] = value.json }
    return ElementCoding.decode(Value.self, from: JSON.object(object).encoded())
  }
}

/// The values of an object, for any number of readers.
public struct ObjectValues<Value: Codable & Equatable & Sendable>: AsyncSequence, Sendable {
  /// Reading cannot fail.
  public typealias Failure = Never

  let object: SyncedObject<Value>

  /// A reader of its own.
  public func makeAsyncIterator() -> Iterator {
    Iterator(object: object, versions: object.latest.values.makeAsyncIterator())
  }

  /// One reader, and the last value that it got.
  public struct Iterator: AsyncIteratorProtocol {
    /// Keeps the object alive: a released object gets no changes.
    let object: SyncedObject<Value>
    var versions: LatestValues<MapVersion>.Iterator
    var seen: Value??
    var seenMap: MapState?

    /// The next value; nil at the end or on cancellation.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value?? {
      while let version = await versions.next(isolation: actor) {
        defer { seenMap = version.map }
        if let seenMap, seenMap.changedKeys(in: version.map).isEmpty { continue }
        let value = SyncedObject<Value>.value(of: version)
        if let seen, ElementCoding.areSame(seen, value) { continue }
        seen = .some(value)
        return .some(value)
      }
      return nil
    }
  }
}

/// The user's profile. A member that is nil is not changed by `save`.
public struct Profile: Codable, Equatable, Sendable {
  /// The company.
  public var companyName: String?
  /// The position in the company.
  public var position: String?

  /// A profile.
  public init(companyName: String? = nil, position: String? = nil) {
    (self.companyName, self.position) = (companyName, position)
  }
}

/// An element of the favorites, or of a collection that was declared without code: a title and data of your own.
public struct ListEntry<Content: Codable & Equatable & Sendable>: Codable, Identifiable, Equatable, Sendable {
  /// The id, which the app chooses.
  public let id: String
  /// A title for people.
  public var title: String?
  /// The data.
  public var data: Content?

  /// An element.
  public init(id: String, title: String? = nil, data: Content? = nil) {
    (self.id, self.title, self.data) = (id, title, data)
  }
}

import LockstepJSON

/// A value of a map. It never changes: a change puts another one in its place.
public final class MapValue: Sendable, Equatable {
  /// The JSON, as it goes over the wire.
  public let encoded: [UInt8]
  /// The revision in which it became what it is.
  public let revision: Revision

  package init(encoded: [UInt8], revision: Revision) {
    self.encoded = encoded
    self.revision = revision
  }

  /// The value.
  public var json: JSON { JSON(trusting: encoded) }

  /// Equal when clients see the same.
  public static func == (left: MapValue, right: MapValue) -> Bool { left === right || left.encoded == right.encoded }
}

/// A fact about a map. One with a value is made by `setting(_:to:)`.
public enum MapMutation: Sendable, Equatable {
  /// A key has this value now, written as JSON.
  case set(key: String, value: [UInt8])
  /// A key has no value any more.
  case removed(key: String)
  /// No key has a value any more.
  case cleared
}

/// Values by their keys, at one revision.
public struct MapState: Sendable, Equatable {
  /// The revision that the facts belong to which are applied now; afterwards the last one that changed the map.
  public internal(set) var revision: Revision
  /// The values, by their keys.
  public private(set) var values: [ElementKey: MapValue]
  /// How many bytes the keys and values take.
  public private(set) var bytes: Int

  /// How many values there are.
  public var count: Int { values.count }

  /// The value of a key; nil where there is none.
  public subscript(key: String) -> MapValue? { values[ElementKey(key)] }

  /// An empty map.
  public init() { self.init([:], revision: .none) }

  /// A map of these values at a revision.
  package init(_ values: [ElementKey: MapValue] = [:], revision: Revision = .none) {
    self.revision = revision
    self.values = values
    bytes = values.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.encoded.count }
  }

  /// Applies a fact. Total: removing what isn't there changes nothing.
  public mutating func apply(_ mutation: MapMutation) {
    switch mutation {
    case .set(let key, let value): set(key, MapValue(encoded: value, revision: revision))
    case .removed(let key): set(key, nil)
    case .cleared: self = MapState(revision: revision)
    }
  }

  /// How many values there would be after facts that name each key once at most, and how many bytes they would take.
  package func size(after mutations: [MapMutation]) -> (count: Int, bytes: Int) {
    mutations.reduce((count, bytes)) { size, mutation in
      switch mutation {
      case .set(let key, let value):
        let old = self[key]
        let grown = value.count - (old?.encoded.count ?? -key.utf8.count)
        return (size.count + (old == nil ? 1 : 0), size.bytes + grown)
      case .removed(let key):
        guard let old = self[key] else { return size }
        return (size.count - 1, size.bytes - key.utf8.count - old.encoded.count)
      case .cleared: return (0, 0)
      }
    }
  }

  private mutating func set(_ key: String, _ value: MapValue?) {
    if let value { bytes += key.utf8.count + value.encoded.count }
    let old =
      value.map { values.updateValue($0, forKey: ElementKey(key)) }
      ?? values.removeValue(forKey: ElementKey(key))
    if let old { bytes -= key.utf8.count + old.encoded.count }
  }
}

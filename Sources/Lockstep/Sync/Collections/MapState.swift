import JSON

/// A value of a map. It never changes: a change puts another one in its place.
final class MapValue: Sendable, Equatable {
  /// The JSON, as it goes over the wire.
  let encoded: [UInt8]
  /// The revision in which it became what it is.
  let revision: Revision

  init(encoded: [UInt8], revision: Revision) {
    self.encoded = encoded
    self.revision = revision
  }

  var json: JSON { JSON(trusting: encoded) }

  /// Equal when clients see the same.
  static func == (left: MapValue, right: MapValue) -> Bool { left === right || left.encoded == right.encoded }
}

/// A fact about a map.
enum MapMutation: Sendable, Equatable {
  case set(key: String, value: [UInt8])
  case removed(key: String)
  case cleared
}

/// Values by their keys, at one revision.
struct MapState: Sendable, Equatable {
  /// The revision that the facts belong to which are applied now; afterwards the last one that changed the map.
  var revision: Revision
  private(set) var values: [ElementKey: MapValue]
  /// How many bytes the keys and values take.
  private(set) var bytes: Int

  var count: Int { values.count }

  subscript(key: String) -> MapValue? { values[ElementKey(key)] }

  /// A map of these values at a revision.
  init(_ values: [ElementKey: MapValue] = [:], revision: Revision = .none) {
    self.revision = revision
    self.values = values
    bytes = values.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.encoded.count }
  }

  /// Applies a fact. Total: removing what isn't there changes nothing.
  mutating func apply(_ mutation: MapMutation) {
    switch mutation {
    case .set(let key, let value): set(key, MapValue(encoded: value, revision: revision))
    case .removed(let key): set(key, nil)
    case .cleared: self = MapState(revision: revision)
    }
  }

  /// How many values there would be after facts that name each key once at most, and how many bytes they would take.
  func size(after mutations: [MapMutation]) -> (count: Int, bytes: Int) {
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

import LockstepCryptography
import LockstepJSON

/// The public keys of an issuer at one time.
struct KeySet: Sendable {
  private static let mostKeys = 100

  private(set) var keys: [ExactText: [JSONWebKey]] = [:]
  /// A sentence for each key that is not used.
  private(set) var skipped: [String] = []

  /// Reads a key set. A key that the server cannot use is skipped.
  ///
  /// Two keys of different types may share an id; the algorithm of the token selects one. Of two
  /// keys of one type with the same id, the first is used.
  init?(_ json: JSON) {
    guard let elements = json["keys"]?.arrayValue else { return nil }
    for (index, element) in elements.enumerated() {
      guard index < Self.mostKeys else {
        skipped.append("The set has more than \(Self.mostKeys) keys; the others are not used.")
        break
      }
      do throws(JSONWebKeyError) {
        try add(JSONWebKey(element))
      } catch {
        skipped.append("Key \(index + 1) \(error.reason).")
      }
    }
  }

  private mutating func add(_ key: JSONWebKey) throws(JSONWebKeyError) {
    if let others = keys[key.id.exact], others.contains(where: { $0.key.kind == key.key.kind }) {
      throw JSONWebKeyError("has the same kid as another key of its type")
    }
    keys[key.id.exact, default: []].append(key)
  }

  var count: Int { keys.values.reduce(0) { $0 + $1.count } }

  /// Whether all keys of another set are in this one, without changes.
  func contains(_ other: KeySet) -> Bool {
    other.keys.allSatisfy { id, others in others.allSatisfy { keys[id]?.contains($0) == true } }
  }
}

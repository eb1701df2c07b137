import LockstepCollections
import LockstepJSON
import LockstepModules

/// An action as the server gets it.
package struct ClientAction: Sendable, Equatable {
  /// The most actions that the server applies together.
  package static let mostActions = 500

  let module: String
  let type: String
  let payload: JSON

  var json: JSON { ["module": .string(module), "type": .string(type), "payload": payload] }

  package static func == (left: ClientAction, right: ClientAction) -> Bool { left.json == right.json }

  init(module: String, type: String, payload: JSON) {
    (self.module, self.type, self.payload) = (module, type, payload)
  }

  /// Reads the JSON form. Nil for anything else.
  init?(_ json: JSON) {
    guard let module = json["module"]?.stringValue, let type = json["type"]?.stringValue else { return nil }
    self.init(module: module, type: type, payload: json["payload"] ?? .object(JSONObject()))
  }

  /// The collection that the action changes.
  var collection: CollectionName {
    module == "defaults"
      ? Suite.collection(payload["suite"]?.stringValue ?? Suite.standard)
      : CollectionName(module)
  }

  /// The element or the key that the action names; nil for the whole collection.
  var subject: String? { payload["id"]?.stringValue ?? payload["key"]?.stringValue }

  /// Whether a change of `other` may change what this action names.
  func overlaps(_ other: ClientAction) -> Bool {
    guard collection == other.collection else { return false }
    guard let subject, let theirs = other.subject else { return true }
    return subject.hasSameBytes(as: theirs)
  }
}

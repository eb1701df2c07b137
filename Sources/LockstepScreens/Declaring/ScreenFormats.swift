import LockstepCollections
import LockstepJSON
import LockstepReactor

extension ValueFormat<ValidationResult> {
  /// The result of a validation: `{"kind", "message"}`.
  public static var validation: ValueFormat {
    ValueFormat(
      .member("kind", .text(oneOf: ["ok", "empty", "validating", "failed"])) { validation in
        switch validation {
        case .ok: "ok"
        case .empty: "empty"
        case .validating: "validating"
        case .failed: "failed"
        }
      },
      .member("message", .text, \.message)
    )
  }
}

extension ValueFormat<String> {
  /// An object with one member: `{"message"}`. For errors, which are pulses.
  public static var message: ValueFormat { ValueFormat(.member("message", .text) { $0 }) }
}

extension ValueFormat<ScreenLink> {
  /// A link: `{"name", "href"}` with the name of the screen and the path that opens it.
  public static var link: ValueFormat {
    ValueFormat(.member("name", .text, \.name), .member("href", .text, \.href))
  }
}

extension ObjectMember {
  /// A pulse: an object with the members of `format`, and before them an integer `id` that grows by 1
  /// each time the pulse fires. It is left out while the pulse is `nil`, and the count goes on.
  ///
  ///     .pulse("error", .message, \.$error)
  ///
  /// So a client distinguishes a second error from a state that changed for another reason. If the id
  /// has grown by more than 1, the pulse fired several times. `format` must have no member `id`.
  public static func pulse<Value: Sendable>(
    _ name: String,
    _ format: ValueFormat<Value>,
    _ pulse: @escaping @Sendable (Whole) -> Pulse<Value?>
  ) -> ObjectMember {
    let repeated = format.schema["properties"]?["id"].map { _ in "/id" } ?? format.repeatedMember
    let numbered = ValueFormat<Pulse<Value?>>(schema: format.schema.withID, repeatedMember: repeated) { pulse in
      guard let value = pulse.wrappedValue else { return .null }
      var object = JSONObject()
      object.append(.integer(Int64(pulse.fired)), named: "id")
      for (name, value) in format.encode(value).objectValue ?? JSONObject() where name != "id" {
        object.append(value, named: name)
      }
      return .object(object)
    }
    return .optional(name, numbered) { whole in
      let pulse = pulse(whole)
      return pulse.wrappedValue == nil ? nil : pulse
    }
  }
}

extension JSON {
  /// The schema of an object, with a first member `id`.
  fileprivate var withID: JSON {
    var schema = objectValue ?? JSONObject()
    var properties: JSONObject = ["id": ["type": "integer", "minimum": 1]]
    for (name, value) in schema["properties"]?.objectValue ?? JSONObject() where name != "id" {
      properties.append(value, named: name)
    }
    schema["properties"] = .object(properties)
    schema["required"] = .array(["id"] + (schema["required"]?.arrayValue ?? []).filter { $0 != "id" })
    return .object(schema)
  }
}

extension Refusal {
  /// The refusal of an inactive screen: the client does not show it, and only `setActive` is accepted.
  public static let inactive = Refusal.conflict("The screen is not active. Send setActive with the value true first.")
}

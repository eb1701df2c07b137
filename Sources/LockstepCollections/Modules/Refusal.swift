/// The reason why an action is refused, in sentences for people. A refused action changes nothing.
public enum Refusal: Error, Sendable, Equatable {
  /// Parts of the payload are invalid. The list of faults is complete. Status 422.
  case invalid([FieldFault])
  /// Something that the action names, such as an element, does not exist. Status 404.
  case notFound(String)
  /// The user may not do this. Status 403.
  case forbidden(String)
  /// The action conflicts with the current state. Status 409.
  case conflict(String)
  /// The action would exceed the user's quota. Status 507.
  case quotaExceeded(String)

  /// One part of the payload is invalid. `pointer` is a JSON Pointer into the payload.
  public static func invalid(_ pointer: String, _ detail: String) -> Refusal {
    .invalid([FieldFault(pointer: pointer, detail: detail)])
  }
}

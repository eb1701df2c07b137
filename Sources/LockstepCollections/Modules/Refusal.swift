/// The reason why an action is refused, in sentences for people. A refused action changes nothing.
public enum Refusal: Error, Sendable, Equatable {
  /// Parts of the payload are invalid. The list of faults is complete. 422.
  case invalid([FieldFault])
  /// The subject of the action does not exist. 404.
  case notFound(String)
  /// The action conflicts with the current state. 409.
  case conflict(String)
  /// The user's quota is exceeded. 507.
  case quotaExceeded(String)

  /// One part of the payload is invalid. `pointer` is a JSON Pointer into the payload.
  public static func invalid(_ pointer: String, _ detail: String) -> Refusal {
    .invalid([FieldFault(pointer: pointer, detail: detail)])
  }
}

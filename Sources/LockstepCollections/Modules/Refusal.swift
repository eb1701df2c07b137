/// Why an action is refused, in sentences for people. Nothing has happened then.
public enum Refusal: Error, Sendable, Equatable {
  /// These parts of its payload are wrong: all of them. 422.
  case invalid([FieldFault])
  /// What it's about isn't there. 404.
  case notFound(String)
  /// It doesn't go with the present state. 409.
  case conflict(String)
  /// There is no room for what it brings. 507.
  case quotaExceeded(String)

  /// One part of the payload is wrong: where, as a JSON Pointer into it, and what.
  public static func invalid(_ pointer: String, _ detail: String) -> Refusal {
    .invalid([FieldFault(pointer: pointer, detail: detail)])
  }
}

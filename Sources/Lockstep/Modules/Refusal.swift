/// Why an action is refused. Nothing has happened then.
enum Refusal: Error, Equatable {
  /// These parts of its payload are wrong: all of them.
  case invalid([FieldFault])
  /// What it's about isn't there.
  case notFound(String)
  /// It doesn't go with the present state.
  case conflict(String)
  /// There is no room for what it brings.
  case quotaExceeded(String)

  /// One part of the payload is wrong.
  static func invalid(_ pointer: String, _ detail: String) -> Refusal {
    .invalid([FieldFault(pointer: pointer, detail: detail)])
  }
}

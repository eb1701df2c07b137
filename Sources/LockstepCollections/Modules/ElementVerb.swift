/// What clients may do with the address of one element, `/v1/<module>/<id>`, besides reading it.
public enum ElementVerb: String, Sendable, CaseIterable {
  /// Makes it what the client sends, or adds it.
  case put
  /// Changes members of it.
  case patch
  /// Takes it out.
  case delete
}

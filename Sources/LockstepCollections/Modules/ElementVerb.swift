/// The HTTP methods that change one element at its address, `/v1/<module>/<id>`.
public enum ElementVerb: String, Sendable, CaseIterable {
  /// Replaces or adds the element.
  case put
  /// Changes some of its members.
  case patch
  /// Removes it.
  case delete
}

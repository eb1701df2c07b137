/// The actions that every list can have, with the payloads that `SyncedList` of the Swift client and
/// the favorites have. In a list of a Swift type, the server turns them into a mutation before the
/// module decides.
public enum StandardAction: String, Sendable, CaseIterable {
  /// `PUT`: replaces the element with the id, or adds a new one at `index` or at the end.
  case add
  /// `PATCH`: changes members of an element by a merge patch (RFC 7396) or a JSON patch (RFC 6902).
  case update
  /// `DELETE`: removes an element.
  case remove
  /// `PUT` of the position: moves an element to `index`.
  case move
  /// Removes the element if there is one with the id, and adds it otherwise.
  case toggle
  /// Removes all elements.
  case clear
}

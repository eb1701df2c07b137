import LockstepJSON

/// The change of a list that a standard action asks for.
enum ListChange: Sendable {
  case insert(id: String, JSONObject, at: Int)
  /// The new element still has the times of the present one.
  case replace(id: String, JSONObject, old: JSONObject)
  case remove(id: String)
  case move(id: String, to: Int)
  case clear
}

/// A field of a state that clients aren't shown: it makes no difference between two states, so that a screen's cursor
/// changes when clients see something else, and only then.
@propertyWrapper
struct HiddenField<Value: Sendable>: Sendable, Equatable {
  var wrappedValue: Value

  static func == (left: HiddenField, right: HiddenField) -> Bool { true }
}

/// Types whose own `Codable` code has no good JSON form, such as `Date` of Foundation, and the form that they get
/// instead. This target does not link Foundation, so a client passes them.
package struct ForeignTypes: Sendable {
  /// The form of a value; nil for a value of any other type.
  let encode: @Sendable (any Encodable) throws -> JSON?
  /// Whether a type is one of these types.
  let contains: @Sendable (any Decodable.Type) -> Bool
  /// Reads a value of such a type. Nil: it does not have the form.
  let decode: @Sendable (any Decodable.Type, JSON) -> (any Decodable)?

  package init(
    encode: @escaping @Sendable (any Encodable) throws -> JSON?,
    contains: @escaping @Sendable (any Decodable.Type) -> Bool,
    decode: @escaping @Sendable (any Decodable.Type, JSON) -> (any Decodable)?
  ) {
    (self.encode, self.contains, self.decode) = (encode, contains, decode)
  }
}

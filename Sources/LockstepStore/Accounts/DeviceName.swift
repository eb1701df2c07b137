/// What a user calls a device, to know its session again in a list.
public struct DeviceName: Sendable, Equatable {
  /// Why a text is no such name, in a sentence.
  public struct Invalid: Error, Equatable, CustomStringConvertible {
    /// The sentence.
    public let description: String
  }

  /// How many characters (Unicode scalars) a name may have.
  public static let maximumCharacters = 128

  /// What a name matches, as JSON Schema says it: no control characters, and something that isn't a space.
  package static let pattern = #"^[^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x1F\x7F-\x9F]*$"#

  /// The name, without the spaces around it.
  public let text: String

  /// Checks a name: 1 to 128 characters without control characters, once the spaces around it are taken off.
  public init(_ text: String) throws(Invalid) {
    let isSpace: (Unicode.Scalar) -> Bool = \.properties.isWhitespace
    var scalars = text.unicodeScalars.drop(while: isSpace)
    while let last = scalars.last, isSpace(last) { scalars.removeLast() }
    guard !scalars.isEmpty else { throw Invalid(description: "The device's name is empty: leave it out instead.") }
    guard scalars.count <= Self.maximumCharacters else {
      throw Invalid(description: "The device's name is longer than \(Self.maximumCharacters) characters.")
    }
    guard scalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw Invalid(description: "The device's name contains a control character.")
    }
    self.text = String(scalars)
  }
}

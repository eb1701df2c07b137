/// Why a text is not the name of a device, in a sentence.
public struct DeviceNameError: Error, Equatable, CustomStringConvertible {
  /// The sentence.
  public let description: String
}

/// The name of a device, by which a user recognises its session in a list.
public struct DeviceName: Sendable, Equatable {
  /// How many characters (Unicode scalars) a name may have.
  public static let maximumCharacters = 128

  /// The name as a pattern of JSON Schema: no control characters, and at least one character that is not a space.
  package static let pattern = #"^[^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x1F\x7F-\x9F]*$"#

  /// The name, without the spaces around it.
  public let text: String

  /// Trims spaces and checks the name: 1 to 128 characters without control characters.
  public init(_ text: String) throws(DeviceNameError) {
    let isSpace: (Unicode.Scalar) -> Bool = \.properties.isWhitespace
    var scalars = text.unicodeScalars.drop(while: isSpace)
    while let last = scalars.last, isSpace(last) { scalars.removeLast() }
    guard !scalars.isEmpty else { throw DeviceNameError(description: "The device's name is empty. Omit it instead.") }
    guard scalars.count <= Self.maximumCharacters else {
      throw DeviceNameError(description: "The device's name is longer than \(Self.maximumCharacters) characters.")
    }
    guard scalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw DeviceNameError(description: "The device's name contains a control character.")
    }
    self.text = String(scalars)
  }
}

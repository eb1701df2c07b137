/// A part of a `Codable` type may be any JSON. An object decoded in this way has its members in the order in which the
/// decoder returns them.
extension JSON: Codable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Reads any value.
  public init(from decoder: any Decoder) throws {
    if let members = try? decoder.container(keyedBy: Name.self) {
      var object = JSONObject()
      for name in members.allKeys { object[name.stringValue] = try members.decode(JSON.self, forKey: name) }
      self = .object(object)
      return
    }
    if var elements = try? decoder.unkeyedContainer() {
      var array: [JSON] = []
      while !elements.isAtEnd { array.append(try elements.decode(JSON.self)) }
      self = .array(array)
      return
    }
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let flag = try? value.decode(Bool.self) {
      self = .bool(flag)
    } else if let number = try? value.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? value.decode(UInt64.self) {
      self = .unsigned(number)
    } else if let number = try? value.decode(Double.self) {
      self = .double(number)
    } else {
      self = .string(try value.decode(String.self))
    }
  }

  /// Writes the value.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let object):
      var members = encoder.container(keyedBy: Name.self)
      for (name, value) in object { try members.encode(value, forKey: Name(stringValue: name)) }
    case .array(let array):
      var elements = encoder.unkeyedContainer()
      for element in array { try elements.encode(element) }
    default: try encodeScalar(to: encoder)
    }
  }

  private func encodeScalar(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null, .object, .array: try container.encodeNil()
    case .bool(let flag): try container.encode(flag)
    case .integer(let number): try container.encode(number)
    case .unsigned(let number): try container.encode(number)
    case .double(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    }
  }
}

/// The node that has a screen, as the screen's id names it.
///
/// Without other nodes, an id is 32 random hexadecimal digits. In a fleet, the beginning of the node's
/// id and a hyphen come first.
package struct ScreenNode: Sendable, Equatable {
  /// How many digits of the node's id there are. They are enough to distinguish the nodes of a fleet.
  private static let digits = 12

  package let prefix: String

  package init(ofNode id: String) { prefix = String(id.prefix(Self.digits)) }

  /// Nil if the id names no node.
  package init?(ofScreen id: String) {
    let digits = id.utf8.prefix(Self.digits)
    guard digits.count == Self.digits, id.utf8.dropFirst(Self.digits).first == UInt8(ascii: "-"),
      digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    prefix = String(id.prefix(Self.digits))
  }

  /// The id of a screen of this node.
  func id(_ random: String) -> String { "\(prefix)-\(random)" }
}

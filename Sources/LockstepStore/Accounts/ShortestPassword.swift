/// The fewest characters that a password in the store may have.
///
/// The login screen refuses shorter ones without asking whether an account exists. The number falls
/// with each smaller `--password-min`, and an import makes it 1. It never rises, because passwords that
/// were set earlier stay valid.
package struct ShortestPassword {
  /// The shortest password that an import may bring, whatever its system's rules were.
  package static let imported = 1

  let connection: StoreConnection

  package init(connection: StoreConnection) { self.connection = connection }

  /// The number of Unicode scalars.
  package func characters() throws -> Int {
    try connection.first("SELECT shortest_password FROM store") { try $0[0] as Int } ?? Self.imported
  }

  /// Notes that passwords may have so few characters. Call it before the first of them is set.
  package func lower(to characters: Int) throws {
    try connection.run(
      "UPDATE store SET shortest_password = ? WHERE shortest_password > ?",
      characters,
      characters
    )
  }
}

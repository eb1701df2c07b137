/// The columns of a table that holds a module's lists or maps. Every such table also has `user_id`
/// and `revision`, and a list's table has `rank`. A store builds its SQL statements from this
/// layout.
package struct TableLayout: Sendable {
  /// A column that holds one member of an element. It is NULL if the member is missing.
  package struct Member: Sendable {
    package let name: String
    package let column: String
    /// Whether the column holds JSON instead of a string.
    package let isJSON: Bool

    package static func text(_ name: String, column: String? = nil) -> Member {
      Member(name: name, column: column ?? name, isJSON: false)
    }

    package static func json(_ name: String) -> Member { Member(name: name, column: name, isJSON: true) }
  }

  package enum Content: Sendable {
    case json(column: String)
    /// Each member in a column of its own, in this order after `id`.
    case members([Member])
  }

  package let table: String
  package let key: String
  package let content: Content
  /// The column for the `part` of the collection's name; nil if the module has only one collection.
  package let part: String?
  /// Whether several modules share the table, which then has the column `module`.
  package let isShared: Bool

  package init(_ table: String, key: String, content: Content, part: String? = nil, isShared: Bool = false) {
    self.table = table
    self.key = key
    self.content = content
    self.part = part
    self.isShared = isShared
  }

  // The tables for modules that declare no table.
  package static let sharedList =
    TableLayout("list_elements", key: "id", content: .json(column: "element"), isShared: true)
  package static let sharedMap = TableLayout("map_values", key: "key", content: .json(column: "value"), isShared: true)
}

/// A statement with parameters `?`, or `?1`, `?2` if a value is used twice: one text that both databases
/// understand, or one for each.
package struct StoreSQL: ExpressibleByStringLiteral {
  @usableFromInline let sqlite: StaticString
  let postgreSQL: StaticString

  @inlinable
  package init(stringLiteral text: StaticString) {
    self.init(sqlite: text, postgreSQL: text)
  }

  @inlinable
  package init(sqlite: StaticString, postgreSQL: StaticString) {
    (self.sqlite, self.postgreSQL) = (sqlite, postgreSQL)
  }

  /// The statement for PostgreSQL, with its parameters as `$1`, `$2` and so on.
  var numberedText: String {
    var (text, count, isQuoted) = ("", 0, false)
    var characters = postgreSQL.description[...]
    while let character = characters.popFirst() {
      if character == "'" { isQuoted.toggle() }
      guard character == "?", !isQuoted else {
        text.append(character)
        continue
      }
      let digits = characters.prefix(while: \.isNumber)
      characters.removeFirst(digits.count)
      count += 1
      text += "$" + (digits.isEmpty ? "\(count)" : String(digits))
    }
    return text
  }
}

import Lockstep

/// Stores the list in the table `shopping_items`.
struct ShoppingTable: ListTable {
  let migrations = [
    Migration(
      number: 1,
      name: "0001_shopping_items",
      sql: """
        CREATE TABLE shopping_items (
          user_id   TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
          id        TEXT NOT NULL,
          name      TEXT NOT NULL,
          amount    INTEGER NOT NULL,
          is_bought INTEGER NOT NULL,
          added_at  INTEGER NOT NULL,
          rank      INTEGER NOT NULL,
          revision  INTEGER NOT NULL,
          PRIMARY KEY (user_id, id)
        ) STRICT, WITHOUT ROWID;
        """
    ),
    Migration(
      number: 2,
      name: "0002_prices",
      sql: """
        ALTER TABLE shopping_items ADD COLUMN price TEXT;
        ALTER TABLE shopping_items ADD COLUMN due INTEGER;
        """
    ),
  ]

  func rows(of user: UserID, in connection: SQLiteConnection) throws -> [ListRow<ShoppingItem>] {
    try connection.all(
      """
      SELECT id, name, amount, is_bought, price, due, added_at, rank, revision
      FROM shopping_items WHERE user_id = ? ORDER BY rank
      """,
      user
    ) { row in
      let item = ShoppingItem(
        id: try row[0],
        name: try row[1],
        amount: try row[2],
        isBought: try row[3],
        price: (try row[4] as String?).flatMap { DecimalNumber($0) },
        due: try row[5],
        addedAt: try row[6]
      )
      return ListRow(element: item, rank: try row[7], revision: try row[8])
    }
  }

  func rank(of id: String, of user: UserID, in connection: SQLiteConnection) throws -> Int? {
    try connection.first("SELECT rank FROM shopping_items WHERE user_id = ? AND id = ?", user, id) { try $0[0] }
  }

  func put(_ row: ListRow<ShoppingItem>, of user: UserID, in connection: SQLiteConnection) throws {
    let item = row.element
    try connection.run(
      """
      INSERT OR REPLACE INTO shopping_items (user_id, id, name, amount, is_bought, price, due, added_at, rank, revision)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      user,
      item.id,
      item.name,
      item.amount,
      item.isBought,
      item.price?.description,
      item.due,
      item.addedAt,
      row.rank,
      row.revision
    )
  }

  func remove(_ id: String, of user: UserID, in connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM shopping_items WHERE user_id = ? AND id = ?", user, id)
  }

  func removeAll(of user: UserID, in connection: SQLiteConnection) throws {
    try connection.run("DELETE FROM shopping_items WHERE user_id = ?", user)
  }
}

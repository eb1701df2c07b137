import Foundation
import LockstepMigrations
import Testing

@Suite("The folder of migrations", .timeLimit(.minutes(10)))
struct MigrationsTests {
  private static let folders = ["sqlite", "postgresql"]

  private static func list(_ folder: String) -> [Migration] {
    folder == "sqlite" ? Migration.all : Migration.postgreSQL
  }

  private static func url(_ folder: String) -> URL {
    URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("migrations/\(folder)")
  }

  @Test("Every file in the folder is in the list, in order, and the list has no other", arguments: folders)
  func allListed(folder: String) throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: Self.url(folder).path).sorted()
    #expect(files == Self.list(folder).map { $0.name + ".sql" })
    #expect(!files.isEmpty)
  }

  @Test("Numbers have four digits, begin at 1 and have no gap", arguments: folders)
  func numbers(folder: String) throws {
    let migrations = Self.list(folder)
    #expect(migrations.map(\.number) == Array(1...migrations.count))
    for migration in migrations {
      #expect(
        migration.name.hasPrefix(
          String(repeating: "0", count: 4 - "\(migration.number)".count) + "\(migration.number)_"
        )
      )
    }
  }

  @Test("The embedded SQL equals the files in the folder", arguments: folders)
  func embedded(folder: String) throws {
    for migration in Self.list(folder) {
      let file = Self.url(folder).appendingPathComponent(migration.name + ".sql")
      #expect(try String(contentsOf: file, encoding: .utf8) == migration.sql)
    }
  }

  @Test(
    "No migration begins or ends a transaction, because all missing migrations are applied in one",
    arguments: folders
  )
  func noTransactions(folder: String) throws {
    for migration in Self.list(folder) {
      let words = migration.sql.split(separator: "\n")
        .compactMap { $0.split(separator: "--", omittingEmptySubsequences: false).first }
        .flatMap { $0.uppercased().split { !$0.isLetter && $0 != "_" } }
      #expect(Set(words).isDisjoint(with: ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "VACUUM"]), "\(migration.name)")
    }
  }
}

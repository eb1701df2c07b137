import Foundation
import LockstepMigrations
import Testing

@Suite("The folder of migrations", .timeLimit(.minutes(10)))
struct MigrationsTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("migrations/sqlite")

  private var files: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".sql") }.sorted()
    }
  }

  @Test("Every SQL file in the folder is in the list, in order, and the list has no other")
  func allListed() throws {
    #expect(try files == Migration.all.map { $0.name + ".sql" })
    #expect(try !files.isEmpty)
  }

  @Test("Numbers have four digits, begin at 1 and have no gap")
  func numbers() throws {
    #expect(Migration.all.map(\.number) == Array(1...Migration.all.count))
    for migration in Migration.all {
      #expect(
        migration.name.hasPrefix(
          String(repeating: "0", count: 4 - "\(migration.number)".count) + "\(migration.number)_"
        )
      )
    }
  }

  @Test("The embedded SQL equals the files in the folder")
  func embedded() throws {
    for migration in Migration.all {
      let file = Self.folder.appendingPathComponent(migration.name + ".sql")
      #expect(try String(contentsOf: file, encoding: .utf8) == migration.sql)
    }
  }

  @Test("No migration begins or ends a transaction, because all missing migrations are applied in one")
  func noTransactions() throws {
    for migration in Migration.all {
      let words = migration.sql.split(separator: "\n")
        .compactMap { $0.split(separator: "--", omittingEmptySubsequences: false).first }
        .flatMap { $0.uppercased().split { !$0.isLetter } }
      #expect(Set(words).isDisjoint(with: ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "VACUUM"]), "\(migration.name)")
    }
  }
}

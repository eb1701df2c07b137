import Foundation
import LockstepMigrations
import Testing

@Suite("The folder of migrations", .timeLimit(.minutes(10)))
struct MigrationsTests {
  private static let lists: [(folder: String, migrations: [Migration])] = [
    ("sqlite", Migration.all), ("postgresql", Migration.postgreSQL),
  ]

  private static func url(_ folder: String) -> URL {
    URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("migrations/\(folder)")
  }

  @Test("Every file in the folder is in the list, in order, and the list has no other", arguments: lists)
  func allListed(folder: String, migrations: [Migration]) throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: Self.url(folder).path).sorted()
    #expect(files == migrations.map { $0.name + ".sql" })
    #expect(!files.isEmpty)
  }

  @Test("Numbers have four digits, begin at 1 and have no gap", arguments: lists)
  func numbers(folder: String, migrations: [Migration]) throws {
    #expect(migrations.map(\.number) == Array(1...migrations.count))
    for migration in migrations {
      #expect(
        migration.name.hasPrefix(
          String(repeating: "0", count: 4 - "\(migration.number)".count) + "\(migration.number)_"
        )
      )
    }
  }

  @Test("The embedded SQL equals the files in the folder", arguments: lists)
  func embedded(folder: String, migrations: [Migration]) throws {
    for migration in migrations {
      let file = Self.url(folder).appendingPathComponent(migration.name + ".sql")
      #expect(try String(contentsOf: file, encoding: .utf8) == migration.sql)
    }
  }

  @Test(
    "No migration begins or ends a transaction, because all missing migrations are applied in one",
    arguments: lists
  )
  func noTransactions(folder: String, migrations: [Migration]) throws {
    for migration in migrations {
      let words = migration.sql.split(separator: "\n")
        .compactMap { $0.split(separator: "--", omittingEmptySubsequences: false).first }
        .flatMap { $0.uppercased().split { !$0.isLetter } }
      #expect(Set(words).isDisjoint(with: ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "VACUUM"]), "\(migration.name)")
    }
  }
}

import Foundation
import LockstepJSON
import LockstepSQLite

/// A client's file that was moved away because it cannot be used: see `LockstepClient.setStoreAside(at:)`.
public struct SetAsideStore: Sendable, Equatable {
  /// The path of the file now. Delete the file with `LockstepClient.removeStore(at:)` when the app no longer needs it.
  public let path: String
  /// The id of the user who made the writes. Nil: no user has logged in, or the id cannot be read.
  public let user: String?
  /// The writes that the server had not confirmed, in order, as far as they can still be read.
  public let writes: [UnsentWrite]
}

/// A write of a file that was set aside. `ClientTransaction.perform(_:)` performs it again.
public struct UnsentWrite: Sendable, Equatable {
  let content: [ClientAction]
  /// The actions in the form that the server gets: `{"module": …, "type": …, "payload": …}`.
  public var actions: [JSON] { content.map(\.json) }
  /// When the app has made the write, by the clock of the device.
  public let madeAt: Date
  /// Whether the client has sent the write, so that the server may have applied it.
  public let wasSent: Bool
  /// Why the server has refused the write; nil if it has not.
  public let refusal: ClientFailure?
}

extension SetAsideStore {
  /// Moves the files of the client at `path` away, and reads what is left.
  init(moving path: String) throws {
    let files = FileManager.default
    var number = 1
    func target(_ number: Int) -> String { "\(path).aside-\(number)" }
    while ClientStore.suffixes.contains(where: { files.fileExists(atPath: target(number) + $0) }) { number += 1 }
    for suffix in ClientStore.suffixes where files.fileExists(atPath: path + suffix) {
      // Only a running client needs it.
      if suffix == "-changed" {
        try files.removeItem(atPath: path + suffix)
      } else {
        try files.moveItem(atPath: path + suffix, toPath: target(number) + suffix)
      }
    }
    self.path = target(number)
    var (user, writes): (String?, [UnsentWrite]) = (nil, [])
    if files.fileExists(atPath: self.path), let connection = try? SQLiteConnection(path: self.path) {
      user = (try? connection.first("SELECT user FROM client") { try $0[0] as String? }) ?? nil
      // Where the damage begins, SQLite reads no further.
      try? connection.forEach("SELECT number, entry FROM outbox ORDER BY number") { row in
        if let number: Int = try? row[0], let text: String = try? row[1], let write = Self.write(number, text) {
          writes.append(write)
        }
      }
    }
    (self.user, self.writes) = (user, writes)
  }

  private static func write(_ number: Int, _ text: String) -> UnsentWrite? {
    guard let json = try? JSON(parsing: Array(text.utf8), maximumDepth: ClientStore.deepest),
      let entry = OutboxEntry(json, number: Int64(number)), entry.confirmed == nil, !entry.isIncluded
    else { return nil }
    return UnsentWrite(
      content: entry.actions,
      madeAt: Date(timeIntervalSince1970: Double(entry.at.millisecondsSince1970) / 1_000),
      wasSent: entry.sentAt != nil,
      refusal: entry.refusal
    )
  }
}

/// One numbered step of the schema: a file of this folder, as it was when the program was built.
public struct Migration: Sendable, Equatable {
  /// 1 for the first; each is one more than the one before.
  public let number: Int
  /// The file's name without `.sql`, for example `0001_store`.
  public let name: String
  /// The file's text: statements that run within one transaction, so it has no BEGIN or COMMIT of its own.
  public let sql: String

  /// A step.
  public init(number: Int, name: String, sql: String) {
    self.number = number
    self.name = name
    self.sql = sql
  }

  private init(_ number: Int, _ name: String, _ file: [UInt8]) {
    self.init(number: number, name: name, sql: String(decoding: file, as: UTF8.self))
  }

  /// All steps, in their order.
  ///
  /// To add one: write the next numbered file, name it in Package.swift (`.embedInCode`) and add a line here. A file
  /// that was released is never changed again: stores that have been through it would be refused.
  public static let all: [Migration] = [
    Migration(1, "0001_store", PackageResources._001_store_sql),
    Migration(2, "0002_accounts", PackageResources._002_accounts_sql),
    Migration(3, "0003_state", PackageResources._003_state_sql),
    Migration(4, "0004_eras", PackageResources._004_eras_sql),
    Migration(5, "0005_history_size", PackageResources._005_history_size_sql),
    Migration(6, "0006_modules", PackageResources._006_modules_sql),
    Migration(7, "0007_orders", PackageResources._007_orders_sql),
  ]
}

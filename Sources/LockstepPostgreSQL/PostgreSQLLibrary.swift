import CLockstepPostgreSQL

/// The functions of libpq, loaded at run time.
///
/// `@unchecked Sendable`: the pointers are set once. Many threads may call libpq, each with its own
/// connection.
final class PostgreSQLLibrary: @unchecked Sendable {
  let functions: lockstep_libpq

  static let file = "libpq.so.5"

  /// The library of this process, loaded when it is first needed.
  static let shared = Result { () throws(PostgreSQLError) in try PostgreSQLLibrary() }

  /// Loads the file, or throws an error of the kind `libraryMissing`.
  init(file: String = PostgreSQLLibrary.file) throws(PostgreSQLError) {
    var reason = [CChar](repeating: 0, count: 512)
    var functions = lockstep_libpq()
    guard lockstep_libpq_load(file, &functions, &reason, reason.count) != 0 else {
      throw PostgreSQLError(kind: .libraryMissing, message: Self.text(reason), operation: .load(file: file))
    }
    self.functions = functions
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

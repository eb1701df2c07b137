import Glibc
import LockstepHTTP
import LockstepTime

/// The folder with a server's backups. Their names are `<store>-<identity>-<time>.db`, where
/// `<identity>` is the beginning of the store's id.
///
/// Files with other names are never deleted: backups of another store, backups of a store that was
/// replaced by a restored one, and backups that the operator has renamed to keep them.
struct BackupFolder {
  let path: String
  private let prefix: String

  init(path: String, store: String, identity: String) {
    self.path = path
    let name = store.split(separator: "/").last.map(String.init) ?? "lockstep.db"
    let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
    prefix = "\(stem.isEmpty ? name : stem)-\(identity.prefix(8))-"
  }

  func file(at moment: Timestamp) -> String { "\(path)/\(prefix)\(Self.text(of: moment)).db" }

  var newest: Timestamp? { names(endingIn: ".db").last.flatMap { moment(of: $0) } }

  /// Creates the folder if it is missing. Only its owner may use it.
  func make() throws(MaintenanceError) {
    if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
    throw .cannotMake(path: path, reason: errno)
  }

  /// Deletes the oldest backups so that `count` are left. Keeps `made`, the newest backup. A file
  /// with a later time in its name got it from a wrong clock, and is deleted first.
  func removeOldest(keeping count: Int, after made: String) {
    let names = names(endingIn: ".db")
    let isLater = { (name: String) in "\(path)/\(name)" > made }
    for name in (names.filter(isLater) + names.filter { !isLater($0) }).dropLast(max(1, count)) {
      unlink("\(path)/\(name)")
    }
  }

  /// Deletes incomplete backups of servers that were killed.
  func removeLeftBehind() {
    for name in names(endingIn: ".db\(PartialFile.suffix)") {
      try? PartialFile.removeLeftBehind("\(path)/\(name)", target: name)
    }
  }

  func names(endingIn suffix: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      // The entry is valid until the next `readdir`. The name ends with a zero byte.
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasPrefix(prefix), name.hasSuffix(suffix), moment(of: name) != nil,
        name.utf8.count == prefix.utf8.count + Self.textLength + suffix.utf8.count
      {
        names.append(name)
      }
    }
    return names.sorted()
  }

  // MARK: Times in names

  /// `20261121T165022Z`, without colons, which some file systems refuse.
  static func text(of moment: Timestamp) -> String {
    String(moment.description.prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
  }

  private static let textLength = 16

  private func moment(of name: String) -> Timestamp? {
    let text = Array(name.dropFirst(prefix.count).prefix(Self.textLength))
    guard text.count == Self.textLength, text[8] == "T", text[15] == "Z" else { return nil }
    func part(_ range: Range<Int>) -> String { String(text[range]) }
    let date = "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))"
    return Timestamp("\(date)T\(part(9..<11)):\(part(11..<13)):\(part(13..<15)).000Z")
  }
}

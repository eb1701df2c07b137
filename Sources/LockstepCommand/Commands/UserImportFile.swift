import LockstepAccounts
import LockstepComposition
import LockstepCryptography
import LockstepMaintenance
import LockstepStore
import LockstepTime

/// A file of users of another system: JSON Lines, or the export of Firebase.
struct UserImportFile {
  private static let largest = 1_073_741_824
  /// As many as a response of the server lists.
  private static let listedFaults = 100

  private(set) var users: [ImportedUser] = []
  /// Where in the file each user is, for messages.
  private(set) var places: [String] = []
  /// How many users of Firebase's export are left out, because they have no address.
  private(set) var withoutAddress = 0
  private var faults: [String] = []
  private var addresses: [ExactText: String] = [:]

  /// Throws with all faults if the file is not valid. `hashing` are the parameters of Firebase's
  /// hashes.
  init(_ path: String, _ hashing: FirebaseHashing?) throws(CommandError) {
    let bytes = try InputFile.bytes(of: path, upTo: Self.largest)
    if let export = try? JSON(parsing: bytes)["users"]?.arrayValue {
      guard let hashing else {
        throw CommandError(
          .usage,
          "\(Terminal.harmless(path)) is an export of Firebase. Name the file with its hash parameters: "
            + "--firebase-hashing <file>."
        )
      }
      for (index, user) in export.enumerated() {
        guard let email = user["email"], !email.isNull else {
          withoutAddress += 1
          continue
        }
        add(at: "user \(index + 1)") { () throws(ImportedUserError) in try ImportedUser(ofFirebase: user, hashing) }
      }
    } else {
      addLines(bytes)
    }
    guard !faults.isEmpty else { return }
    var lines = ["\(Terminal.harmless(path)) is not valid, and nothing was imported."]
    lines += faults.prefix(Self.listedFaults).map { "  \($0)" }
    if faults.count > Self.listedFaults { lines.append("  and \(faults.count - Self.listedFaults) more faults") }
    throw CommandError(.data, lines.joined(separator: "\n"))
  }

  private mutating func addLines(_ bytes: [UInt8]) {
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      guard line.contains(where: { $0 > UInt8(ascii: " ") }) else { continue }
      add(at: "line \(index + 1)") { () throws(ImportedUserError) in
        let json: JSON
        do throws(JSONParseError) {
          json = try JSON(parsing: Array(line))
        } catch {
          throw ImportedUserError("it is not JSON: " + "\(error)".replacing("Line 1, column", with: "column"))
        }
        return try ImportedUser(json)
      }
    }
  }

  private mutating func add(at place: String, _ read: () throws(ImportedUserError) -> ImportedUser) {
    do throws(ImportedUserError) {
      let user = try read()
      if let first = addresses.updateValue(place, forKey: user.address.key.exact) {
        throw ImportedUserError("it has the same address as \(first)")
      }
      users.append(user)
      places.append(place)
    } catch {
      faults.append("\(place): \(Terminal.harmless(error.text))")
    }
  }
}

/// A fault of a user in a file. The text completes a sentence about the place.
struct ImportedUserError: Error {
  let text: String

  init(_ text: String) { self.text = text }
}

/// The parameters of Firebase's password hashes, as its console shows them.
struct FirebaseHashing {
  private static let algorithm = "SCRYPT"

  private let members: [String: String]

  /// Reads the text that the console shows, such as `hash_config { rounds: 8, … }`.
  init(_ path: String) throws(CommandError) {
    let text = String(decoding: try InputFile.bytes(of: path, upTo: 65_536), as: UTF8.self)
    var members: [String: String] = [:]
    for match in text.matches(of: /"?([a-z0-9_]+)"?\s*[:=]\s*"?([A-Za-z0-9+\/=_-]*)"?/) {
      members[String(match.1)] = String(match.2)
    }
    let missing = ["base64_signer_key", "base64_salt_separator", "rounds", "mem_cost"].filter { members[$0] == nil }
    guard missing.isEmpty, members["algorithm", default: Self.algorithm] == Self.algorithm else {
      throw CommandError(
        .data,
        "\(Terminal.harmless(path)) must contain the text that Firebase's console shows under Authentication, Users, "
          + "Password hash parameters, with the algorithm SCRYPT\(missing.isEmpty ? "" : "; it has no ")"
          + missing.joined(separator: ", ") + "."
      )
    }
    self.members = members
  }

  /// The text form of a hash.
  func text(hash: String, salt: String) -> String {
    let (cost, rounds) = (members["mem_cost", default: ""], members["rounds", default: ""])
    let (separator, key) = (members["base64_salt_separator", default: ""], members["base64_signer_key", default: ""])
    // Firebase exports Base64 for URLs.
    let parts = [salt, separator, key, hash].map { String($0.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }) }
    return "$firebase-scrypt$m=\(cost),r=\(rounds)$" + parts.joined(separator: "$")
  }
}

extension ImportedUser {
  private static let names: Set = ["email", "passwordHash", "emailVerified", "createdAt", "disabled"]

  /// Reads a line of a file.
  init(_ json: JSON) throws(ImportedUserError) {
    guard let object = json.objectValue else { throw ImportedUserError("it is not a JSON object") }
    if let name = object.names.first(where: { !Self.names.contains($0) }) {
      throw ImportedUserError(
        "there is no member “\(name)”; the members are \(Self.names.sorted().joined(separator: ", "))"
      )
    }
    let created = try Self.text(object["createdAt"], "createdAt")
    try self.init(
      email: Self.text(object["email"], "email"),
      hash: Self.text(object["passwordHash"], "passwordHash")
    )
    isEmailVerified = try Self.flag(object["emailVerified"], "emailVerified")
    isDisabled = try Self.flag(object["disabled"], "disabled")
    createdAt = try created.map { text throws(ImportedUserError) in
      guard let time = Timestamp(text) else {
        throw ImportedUserError("createdAt is not a time such as 2026-11-27T08:00:00Z")
      }
      return time
    }
  }

  /// Reads a user of Firebase's export.
  init(ofFirebase json: JSON, _ hashing: FirebaseHashing) throws(ImportedUserError) {
    let hash = try Self.text(json["passwordHash"], "passwordHash").flatMap { $0.isEmpty ? nil : $0 }
    let salt = try Self.text(json["salt"], "salt") ?? ""
    try self.init(
      email: Self.text(json["email"], "email"),
      hash: hash.map { hashing.text(hash: $0, salt: salt) }
    )
    isEmailVerified = try Self.flag(json["emailVerified"], "emailVerified")
    isDisabled = try Self.flag(json["disabled"], "disabled")
    // Firebase exports milliseconds as a string.
    createdAt = json["createdAt"]?.stringValue.flatMap(Int64.init).map { Timestamp(millisecondsSince1970: $0) }
  }

  private init(email: String?, hash: String?) throws(ImportedUserError) {
    guard let email else { throw ImportedUserError("it has no email") }
    let address: EmailAddress
    do throws(AccountTextError) {
      address = try EmailAddress(email)
    } catch {
      throw ImportedUserError("email: \(error)")
    }
    let checked = try hash.map { text throws(ImportedUserError) in
      do {
        let hash = try ForeignPasswordHash(text)
        try hash.loadLibrary()
        return PasswordHash(hash.text)
      } catch let error as CryptographyError {
        throw ImportedUserError("passwordHash: this program \(error)")
      } catch {
        throw ImportedUserError("passwordHash: \(error)")
      }
    }
    self.init(address, passwordHash: checked)
  }

  private static func text(_ json: JSON?, _ name: String) throws(ImportedUserError) -> String? {
    guard let json, !json.isNull else { return nil }
    guard let text = json.stringValue else { throw ImportedUserError("\(name) must be a string") }
    return text
  }

  private static func flag(_ json: JSON?, _ name: String) throws(ImportedUserError) -> Bool {
    guard let json, !json.isNull else { return false }
    guard let flag = json.boolValue else { throw ImportedUserError("\(name) must be true or false") }
    return flag
  }
}

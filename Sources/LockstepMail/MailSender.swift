/// Why a text is not a sender.
package struct MailSenderError: Error, Equatable {
  /// Completes a sentence that begins with “it”.
  package let reason: String
}

/// The sender of mails: `notes@example.com`, or `Notes <notes@example.com>`. A name with special
/// characters may be quoted: `"Notes, Inc." <notes@example.com>`.
public struct MailSender: Sendable, Equatable {
  /// Empty if there is none.
  package let name: String
  package let address: String

  package init(_ text: String) throws(MailSenderError) {
    guard text.utf8.count <= 512, text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw MailSenderError(reason: "is longer than 512 bytes or has a control character")
    }
    if text.hasSuffix(">"), let start = text.lastIndex(of: "<") {
      name = try Self.name(text[..<start].trimmed)
      address = String(text[text.index(after: start)...].dropLast())
    } else {
      (name, address) = ("", text)
    }
    guard Self.isAddress(address) else {
      throw MailSenderError(
        reason: "must be an e-mail address in ASCII, such as notes@example.com or Notes <notes@example.com>"
      )
    }
  }

  /// The part of the address after the `@`.
  package var domain: Substring { address.split(separator: "@").last ?? "" }

  private static func name(_ text: Substring) throws(MailSenderError) -> String {
    var (name, rest) = (text, Substring())
    if text.first == "\"" {
      name = ""
      rest = text.dropFirst()
      var isQuoted = true
      while isQuoted, let character = rest.popFirst() {
        switch character {
        case "\"": isQuoted = false
        case "\\": name.append(rest.popFirst() ?? "\\")
        default: name.append(character)
        }
      }
      guard !isQuoted else { throw MailSenderError(reason: "has a quotation mark that is not closed") }
    }
    guard rest.isEmpty, text.first == "\"" || !name.contains(where: { "\"<>".contains($0) }) else {
      throw MailSenderError(reason: "has a name with special characters; put quotation marks around the whole name")
    }
    return String(name)
  }

  /// A dot-atom (RFC 5322) and the name of a host.
  private static func isAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, text.utf8.count <= 254, parts[0].utf8.count <= 64 else { return false }
    let atoms = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
    return atoms.allSatisfy {
      !$0.isEmpty && $0.utf8.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-/=?^_`{|}~".utf8.contains($0) }
    }
      && labels.allSatisfy { label in
        (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
          && label.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
      }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}

extension Substring {
  /// Without spaces at both ends.
  fileprivate var trimmed: Substring {
    var text = self
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return text
  }
}

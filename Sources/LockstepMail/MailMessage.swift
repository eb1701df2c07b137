import LockstepHTTP
import LockstepTime

/// A mail with a text and the same text in HTML (RFC 5322, RFC 2046).
///
/// An address beyond ASCII is written in UTF-8 (RFC 6532). Relays that support it offer SMTPUTF8;
/// others refuse the mail.
struct MailMessage: Sendable {
  /// A part in base64 contains no `_`. Another part is only plain if it does not contain this.
  private static let boundary = "=_part"

  let sender: MailSender
  let recipient: String
  let subject: String
  let text: String
  let html: String
  /// The tag of the language.
  let language: String
  let time: Timestamp
  /// The part of the Message-ID before the `@`, from letters and digits.
  let id: String

  /// The whole mail, with lines that end in CRLF. Lines have at most 76 characters, except those of
  /// plain parts and that of a long address.
  func encoded() -> [UInt8] {
    let from = sender.name.isEmpty ? sender.address : "\(MailEncoding.phrase(sender.name))\r\n <\(sender.address)>"
    let mail = """
      \(date)From: \(from)\r
      To: \(recipient)\r
      Subject: \(MailEncoding.unstructured(subject, after: "Subject"))\r
      Message-ID: <\(id)@\(sender.domain)>\r
      Auto-Submitted: auto-generated\r
      Content-Language: \(language)\r
      MIME-Version: 1.0\r
      Content-Type: multipart/alternative; boundary="\(Self.boundary)"\r
      \r
      \(part("plain", text))\(part("html", html))--\(Self.boundary)--\r

      """
    return Array(mail.utf8)
  }

  /// The line `Date: …`. Mails write the time zone of HTTP as `+0000`.
  private var date: String {
    let field = HTTPDate.field(secondsSince1970: Int(time.millisecondsSince1970 / 1000))
    return String(decoding: field, as: UTF8.self).replacing("GMT", with: "+0000")
  }

  /// A plain part can be read without a mail program, for example in the output of a relay for
  /// tests.
  private func part(_ type: String, _ body: String) -> String {
    let isPlain = MailEncoding.isPlain(body) && !body.contains(Self.boundary)
    let content = isPlain ? String(decoding: MailEncoding.lines(body), as: UTF8.self) + "\r\n" : MailEncoding.body(body)
    return """
      --\(Self.boundary)\r
      Content-Type: text/\(type); charset=utf-8\r
      Content-Transfer-Encoding: \(isPlain ? "7bit" : "base64")\r
      \r
      \(content)
      """
  }
}

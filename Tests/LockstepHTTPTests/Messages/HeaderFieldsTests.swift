@testable import LockstepHTTP
import Testing

@Suite("The value of a field cannot become another field", .timeLimit(.minutes(10)))
struct HeaderFieldsTests {
  @Test(
    "Control characters become spaces",
    arguments: [
      ("a\r\nEvil: b", "a  Evil: b"), ("a\nb", "a b"), ("a\rb", "a b"), ("\r\n\r\nbody", "    body"),
      ("a\u{0}b", "a b"),
      ("a\u{7F}b", "a b"), ("a\tb", "a\tb"), ("Grüße", "Grüße"), ("", ""), ("a\r\n", "a  "),
    ]
  )
  func injection(value: String, written: String) {
    var fields = HeaderFields()
    fields.append(.location, value)
    #expect(String(decoding: fields.bytes, as: UTF8.self) == "Location: \(written)\r\n")
    #expect(fields.all.count == 1)
    #expect(fields[.location] == written)
  }

  @Test("A character whose last byte looks like a control character stays")
  func multipleBytes() {
    var fields = HeaderFields()
    fields.append(.location, "\u{10A}\u{10D}\u{560A}")
    #expect(fields[.location] == "\u{10A}\u{10D}\u{560A}")
  }

  @Test("Fields keep their order, may repeat, and are found regardless of case")
  func order() {
    var fields = HeaderFields()
    fields.append(.vary, "Origin")
    var others = HeaderFields()
    others.append("X-Other", "a: b")
    others.append(.vary, "Accept")
    fields.append(contentsOf: others)
    #expect(fields.all.map(\.name) == ["Vary", "X-Other", "Vary"])
    #expect(fields.all.map(\.value) == ["Origin", "a: b", "Accept"])
    #expect(fields["VARY"] == "Origin")
    #expect(fields["x-other"] == "a: b")
    #expect(fields[.allow] == nil)
  }

  @Test("An empty list of fields has no bytes")
  func empty() {
    #expect(HeaderFields().bytes.isEmpty)
    #expect(HeaderFields().all.isEmpty)
  }

  @Test("Only the server can set the fields that frame a message, however they are written")
  func enginesFields() {
    var fields = HeaderFields()
    let names: [FieldName] = [
      .contentLength, .transferEncoding, .connection, .date, "content-length", "TRANSFER-ENCODING", "conNection",
      "DATE",
    ]
    for name in names { fields.append(name, "1") }
    #expect(fields == HeaderFields())
    for name: FieldName in ["Etag", "Content-Type", "Etagetaget", "Content-Lengtt"] { fields.append(name, "1") }
    #expect(fields.all.count == 4)
  }
}

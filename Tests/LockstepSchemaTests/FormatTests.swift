import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct FormatTests {
  @Test("Texts of a format are valid", arguments: accepted)
  func accepts(_ format: String, _ texts: [String]) throws {
    let schema = try ValueSchema(["format": .string(format)])
    for text in texts { #expect(schema.isValid(.string(text)), "\(text)") }
  }

  @Test("Texts that break the rules of a format are invalid", arguments: refused)
  func refuses(_ format: String, _ texts: [String]) throws {
    let schema = try ValueSchema(["format": .string(format)])
    for text in texts { #expect(!schema.isValid(.string(text)), "\(text)") }
  }

  @Test("No part of a valid text is read beyond its end", arguments: accepted)
  func prefixes(_ format: String, _ texts: [String]) throws {
    let schema = try ValueSchema(["format": .string(format)])
    for text in texts {
      // Only the absence of a crash counts. Many parts of URIs are URIs.
      for count in 0..<text.count {
        _ = schema.isValid(.string(String(text.prefix(count))))
        _ = schema.isValid(.string(String(text.suffix(count))))
      }
    }
  }

  private static let accepted: [(String, [String])] = [
    (
      "date-time",
      [
        "2026-11-23T18:25:43Z", "2026-11-23t18:25:43z", "2026-11-23T18:25:43.1234567890123Z",
        "2026-11-23T18:25:43+23:59",
        "2026-11-23T18:25:43-00:00", "0000-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2016-12-31T23:59:60Z",
        "2016-06-30T23:59:60.5Z", "2017-01-01T00:59:60+01:00", "2016-12-31T15:59:60-08:00", "2016-07-01T08:59:60+09:00",
      ]
    ),
    ("date", ["2026-11-23", "0000-02-29", "2000-02-29", "9999-12-31"]),
    (
      "email",
      [
        "a@b", "ada@example.com", "ada.lovelace+tag@example.co.uk", "!#$%&'*+-/=?^_`{|}~@example.com",
        "\"ada l\"@example.com",
        "\"a\\\"b\\\\c\"@example.com", "\"\"@example.com", "ada@[192.0.2.1]", "ada@[IPv6:2001:db8::1]", "ada@[ipv6:::]",
        "a@\(String(repeating: "a", count: 63)).example", "\(String(repeating: "a", count: 64))@b", "a@1.2.3",
      ]
    ),
    (
      "uri",
      [
        "https://example.com", "HTTPS://example.com:8080/a/b?c=d#e", "urn:isbn:0451450523", "mailto:ada@example.com",
        "file:///etc/hosts", "a:", "a:b", "x-y.z+1:", "http://[::1]:80/", "http://[v7.a:b]/", "http://user:pass@host/",
        "http://host:/", "data:text/plain,a%20b", "http://1.2.3.4/", "http://[::ffff:1.2.3.4]", "http://a//b//", "a:?#",
        "http://[1:2:3:4:5:6:7::]", "http://[1:2:3:4:5:6:1.2.3.4]",
      ]
    ),
    ("uuid", ["2eb8aa08-aa98-41ea-b4aa-73b441d16380", "2EB8AA08-AA98-41EA-B4AA-73B441D16380"]),
  ]

  private static let refused: [(String, [String])] = [
    (
      "date-time",
      [
        "", "2026-11-23", "2026-11-23T18:25:43", "2026-11-23 18:25:43Z", "2026-11-23T24:00:00Z", "2026-11-23T18:60:00Z",
        "2026-11-23T18:25:61Z", "2026-11-23T18:25:43.Z", "2026-11-23T18:25:43+24:00", "2026-11-23T18:25:43+01:60",
        "2026-11-23T18:25:43+0100", "2026-11-23T18:25:43+01", "2026-11-23T18:25Z", "2026-02-30T18:25:43Z",
        "2023-02-29T18:25:43Z", "2026-00-10T18:25:43Z", "2026-10-00T18:25:43Z", "2016-12-31T23:58:60Z",
        "2016-12-30T23:59:60Z", "2016-11-30T23:59:60Z", "2016-12-31T23:59:60+01:00", "2026-11-23T18:25:43ZZ",
        "2026-11-23T18:25:43Z ", "+2026-11-23T18:25:43Z", "2026-11-23T18:25:43,5Z", "2026-11-23T1८:25:43Z",
      ]
    ),
    ("date", ["", "2026-11-3", "2026-11-031", "2026-13-01", "2100-02-29", "2026-04-31", "2026-1123", "20261123"]),
    (
      "email",
      [
        "", "@", "a", "a@", "@b", ".a@b", "a.@b", "a..b@c", "a b@c", "a@b c", "a@-b", "a@b-", "a@b..c", "a@.b", "a@b.",
        "\"a\"b\"@c", "\"a@c", "\"a\\\"@c", "a@[1.2.3]", "a@[1.2.3.256]", "a@[IPv6:1]", "a@[2001:db8::1]", "a@b_c",
        "ä@b",
        "a@ä.de", "a@[]", "a@[", "a@]", "\"\u{7F}\"@b", "\(String(repeating: "a", count: 65))@b",
        "a@\(String(repeating: "a", count: 64))", "a@\(String(repeating: "a.", count: 128))b", "a@[\u{16}Pv6:::1]",
      ]
    ),
    (
      "uri",
      [
        "", ":", "a", "/a", "//host/a", "1a:b", "a b:c", "ä:b", "http://a b", "http://a%", "http://a%2", "http://a%2g",
        "http://[::1", "http://[:::1]", "http://[1::2::3]", "http://[1:2:3:4:5:6:7]", "http://[12345::]",
        "http://[v.a]",
        "http://[v7.]", "http://host:port", "http://a@b@c", "http://a\\b", "http://a/{b}", "http://a#b#c", "http://ä",
        "http://[::1]a", "http://[1:2:3:4:5:6:7:8:9]", "http://[1:2:3:4:5:6:7:1.2.3.4]", "http://[::1.2.3]", "a:<b>",
        "http://[1:]", "http://[:1]", "a:\u{1}",
      ]
    ),
    (
      "uuid",
      [
        "", "2eb8aa08aa9841eab4aa73b441d16380", "2eb8aa08-aa98-41ea-b4aa-73b441d1638g",
        "2eb8aa08-aa98-41ea-b4aa-73b441d163800",
        "{2eb8aa08-aa98-41ea-b4aa-73b441d16380}", "2eb8aa08-aa98-41ea-b4aa073b441d16380",
        "urn:uuid:2eb8aa08-aa98-41ea-b4aa-73b",
      ]
    ),
  ]
}

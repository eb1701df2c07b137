import LockstepScreens
import Testing

@Suite("The URL of an upstream", .timeLimit(.minutes(10)))
struct UpstreamURLTests {
  /// URLs, and the parts of them that may be shown.
  private static let accepted: [(text: String, shown: String)] = [
    ("https://people.example", "https://people.example"),
    ("https://people.example/", "https://people.example"),
    ("HTTPS://People.Example/Hook", "https://people.example"),
    ("http://10.0.0.7:8080/v1/profiles?key=s3cret", "http://10.0.0.7:8080"),
    ("http://people?key=s3cret", "http://people"),
    ("https://user:s3cret@people.example:1/s3cret", "https://people.example:1"),
    ("https://s3cret@[2001:db8::1]:65535/%20", "https://[2001:db8::1]:65535"),
    ("http://[::ffff:1.2.3.4]", "http://[::ffff:1.2.3.4]"),
    ("http://a_b-c.example./@s3cret", "http://a_b-c.example."),
  ]

  @Test("The shown URL has no credentials", arguments: accepted)
  func shown(text: String, shown: String) throws {
    let url = try UpstreamURL(text)
    #expect(url.text == text)
    var dumped = ""
    dump(url, to: &dumped)
    #expect(url.description == shown && String(reflecting: url) == shown && !dumped.contains("s3cret"))
  }

  private static let refused: [(text: String, reason: String)] = [
    ("", "must begin with https://"), ("people.example", "must begin with https://"),
    ("ftp://people.example", "must begin with https://"), ("file:///etc/passwd", "must begin with https://"),
    (" https://people.example", "has a character"), ("https://people.example/a b", "has a character"),
    ("https://people.example/\n", "has a character"), ("https://people.example/\0", "has a character"),
    ("https://pëople.example", "has a character"), ("https://people.example/#part", "has a character"),
    ("https://people.example\\@evil.example", "has a character"),
    ("https://", "must have a"), ("https:///path", "must have a"), ("https://?x", "must have a"),
    ("https://user@", "must have a"), ("https://a@b@c", "must have a"), ("https://:80", "must have a"),
    ("https://people.example:", "must have a"), ("https://people.example:x", "must have a"),
    ("https://people.example:+1", "must have a"), ("https://people.example:123456", "must have a"),
    ("https://[::1", "must have a"), ("https://[]", "must have a"), ("https://[1234]", "must have a"),
    ("https://[::1]x", "must have a"), ("https://[::g]", "must have a"), ("https://a,b", "must have a"),
    ("https://people.example:0", "has a port"), ("https://people.example:65536", "has a port"),
    ("https://people.example/" + String(repeating: "x", count: 2_026), "is longer than 2048 bytes"),
  ]

  @Test("An invalid URL is refused with the reason", arguments: refused)
  func refusals(text: String, reason: String) {
    #expect {
      _ = try UpstreamURL(text)
    } throws: {
      ($0 as? UpstreamURLError)?.reason.hasPrefix(reason) == true
    }
  }

  @Test("A URL of 2,048 bytes is accepted")
  func longest() throws {
    let start = "https://people.example/"
    let text = start + String(repeating: "x", count: 2_048 - start.utf8.count)
    #expect(try UpstreamURL(text).text == text)
  }
}

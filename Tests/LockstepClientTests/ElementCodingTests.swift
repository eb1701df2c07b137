import Foundation
import LockstepClientTesting
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepClient

@Suite("Elements as JSON", .timeLimit(.minutes(10)))
struct ElementCodingTests {
  private struct Invoice: Codable, Identifiable, Equatable, Sendable {
    let id: String
    var due: Date?
    var total: Decimal?
    var page: URL?
    var scan: Data?
    var reminders: [Date] = []
    var shares: [String: Decimal] = [:]
  }

  private static let second = Date(timeIntervalSince1970: 1_700_000_000.25)

  @Test("Dates are times in RFC 3339, and decimal numbers are strings with all digits, wherever they are")
  func foundationTypes() throws {
    let digits = "12345678901234567890.123456789"
    var invoice = Invoice(id: "a", due: Self.second, total: Decimal(string: digits))
    invoice.page = URL(string: "https://example.com/a?b=c")
    invoice.scan = Data([1, 2, 255])
    invoice.reminders = [Date(timeIntervalSince1970: -1)]
    invoice.shares = ["ada": Decimal(string: "0.1") ?? 0]
    let json = try ElementCoding.json(invoice)
    #expect(
      json == [
        "id": "a", "due": "2023-11-14T22:13:20.250Z", "total": .string(digits), "page": "https://example.com/a?b=c",
        "scan": "AQL/", "reminders": ["1969-12-31T23:59:59.000Z"], "shares": ["ada": "0.1"],
      ]
    )
    #expect(try ElementCoding.decode(Invoice.self, from: json) == invoice)
    #expect(try ElementCoding.json(Self.second) == "2023-11-14T22:13:20.250Z")
    #expect(try ElementCoding.decode(Decimal.self, from: .string(digits)) == invoice.total)
  }

  @Test("The forms of earlier versions of the client can be read")
  func earlierForms() throws {
    let old: JSON = [
      "id": "a", "due": 721_692_800.25, "total": 12.1, "reminders": [-978_307_201], "shares": ["ada": 3],
    ]
    let invoice = try ElementCoding.decode(Invoice.self, from: old)
    #expect(invoice.due == Self.second && invoice.total == Decimal(string: "12.1"))
    #expect(invoice.reminders == [Date(timeIntervalSince1970: -1)] && invoice.shares == ["ada": 3])
  }

  @Test("A date outside RFC 3339, and a decimal that is not a number, cannot be written")
  func invalidValues() throws {
    for date in [Date.distantPast - 1e9, Date(timeIntervalSince1970: 3e11), Date(timeIntervalSince1970: .infinity)] {
      #expect(throws: EncodingError.self) { try ElementCoding.json(["due": date]) }
    }
    #expect(throws: EncodingError.self) { try ElementCoding.json(["total": Decimal.nan]) }
    for text in ["12abc", "", " 1", "1,5", "0x1", "true"] {
      #expect(throws: DecodingError.self, "\(text)") { try ElementCoding.decode(Decimal.self, from: .string(text)) }
    }
    for text in ["yesterday", "2023-11-14", "2023-11-14T22:13:20"] {
      #expect(throws: DecodingError.self, "\(text)") { try ElementCoding.decode(Date.self, from: .string(text)) }
    }
  }

  @Test("Every date of the years 0 to 9999 comes back to the millisecond", arguments: [1, 2, 3] as [UInt64])
  func dates(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<2_000 {
      let milliseconds = Int64.random(in: -62_167_219_200_000...253_402_300_799_999, using: &numbers)
      let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
      let json = try ElementCoding.json(date)
      let read = try ElementCoding.decode(Date.self, from: json)
      #expect(abs(read.timeIntervalSince(date)) < 0.000_1 && json.stringValue?.utf8.count == 24, "\(milliseconds)")
    }
  }

  @Test("Elements with dates and decimal numbers are written, shown, and the same on another device")
  func list() throws {
    let fixture = try ClientFixture()
    let invoices = fixture.client.list("invoices", of: ListEntry<Invoice>.self)
    let entry = ListEntry(id: "1", data: Invoice(id: "a", due: Self.second, total: Decimal(string: "0.1")))
    try fixture.server.declare(["name": "invoices", "kind": "list"])
    fixture.clock.start { _ = try? await invoices.add(entry) }
    fixture.clock.advance(by: .milliseconds(50))
    #expect(invoices.elements == [entry] && fixture.client.status.pending == 0)
    let stored = fixture.server.json(of: "invoices").arrayValue?.first?["data"]
    #expect(stored?["due"] == "2023-11-14T22:13:20.250Z" && stored?["total"] == "0.1")
  }

  private struct PhotoChange: Encodable, Sendable {
    var title: MemberChange<String> = .keep
    var rating: MemberChange<Int> = .keep
    var score: MemberChange<Double> = .keep
    var isOpen: MemberChange<Bool> = .keep
  }

  @Test("A change names the members that it sets or removes, and leaves the others out")
  func memberChanges() throws {
    #expect(try ElementCoding.json(PhotoChange()) == [:])
    #expect(try ElementCoding.json(PhotoChange(title: nil, rating: 5)) == ["title": .null, "rating": 5])
    let name: String? = nil
    #expect(try ElementCoding.json(PhotoChange(title: .init(name), score: 1.5)) == ["title": .null, "score": 1.5])
    #expect(
      try ElementCoding.json(PhotoChange(title: .init("Aurora"), isOpen: true)) == ["title": "Aurora", "isOpen": true]
    )
    #expect(MemberChange<String>.clear == nil && MemberChange("a") == .set("a"))
    // Foundation's encoder calls the same code.
    #expect(String(decoding: try JSONEncoder().encode(PhotoChange(title: nil)), as: UTF8.self) == #"{"title":null}"#)
  }

  @Test("A member that a change removes is gone on the server, and the others stay")
  func clearing() throws {
    let fixture = try ClientFixture()
    fixture.add("a", title: "Aurora")
    fixture.clock.start { [photos = fixture.photos] in _ = try? await photos.update("a", with: PhotoChange()) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.photos.elements.first?.title == "Aurora")
    fixture.clock.start { [photos = fixture.photos] in _ = try? await photos.update("a", with: PhotoChange(title: nil))
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.photos.elements == [Photo(id: "a")])
    #expect(fixture.server.json(of: "favorites").arrayValue?.first?["title"] == nil)
  }
}

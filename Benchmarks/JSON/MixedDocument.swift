import LockstepJSON

/// Makes the document for the benchmark: the same bytes on every machine and in every run. Its
/// records resemble an app's state: identifiers, titles in several scripts, prose with escapes,
/// numbers of all kinds, nesting.
struct MixedDocument {
  private var random = SplitMix(state: 20_260_101)

  private static let words = [
    "lantern", "harbour", "quiet", "signal", "amber", "field", "notes", "winter", "compass", "river", "bridge",
    "a", "of", "the", "and", "under", "between", "synchronise", "favourites", "defaults",
  ]
  private static let otherScripts = [
    "Grüße aus Köln", "naïve café", "Привет, мир", "東京の夜景", "안녕하세요", "שלום", "नमस्ते", "🌌 Aurora 🏔️", "Ελλάδα", "ÅÄÖ åäö",
  ]

  /// Compact JSON of at least that many bytes, and at most one record more.
  mutating func make(byteCount: Int) -> [UInt8] {
    var records: [JSON] = []
    var size = 0
    while size < byteCount {
      let record = makeRecord(number: records.count)
      size += record.encoded().count + 1
      records.append(record)
    }
    return JSON.array(records).encoded()
  }

  private mutating func makeRecord(number: Int) -> JSON {
    [
      "id": .string("photo:\(random.next(below: 1_000_000))"),
      "index": JSON(number),
      "title": .string(makeTitle()),
      "description": .string(makeProse()),
      "isFavorite": .bool(random.next(below: 2) == 0),
      "rating": JSON(Double(random.next(below: 50)) / 10),
      "score": JSON(Double(random.next(below: 1 << 53)) / Double(1 << 53)),
      "bytes": JSON(random.next(below: 90_000_000)),
      "checksum": JSON(random.next()),
      "location": [
        "latitude": JSON(Double(random.next(below: 180_000_000)) / 1e6 - 90),
        "longitude": JSON(Double(random.next(below: 360_000_000)) / 1e6 - 180),
        "accuracy": JSON(Double(random.next(below: 1000)) * 1e-3),
      ],
      "tags": .array((0..<random.next(below: 6)).map { _ in .string(makeWord()) }),
      "histogram": .array((0..<16).map { _ in JSON(random.next(below: 256)) }),
      "parent": number.isMultiple(of: 3) ? nil : JSON(random.next(below: UInt64(number) + 1)),
      "history": .array((0..<random.next(below: 4)).map { _ in makeEdit() }),
      "path": .string("/volumes/\(makeWord())/\(makeWord())/\(number).heic"),
      "addedAt": "2026-01-\(10 + random.next(below: 20))T12:\(10 + random.next(below: 50)):07.125Z",
    ]
  }

  private mutating func makeEdit() -> JSON {
    ["by": .string(makeWord()), "at": JSON(1_767_225_600_000 + random.next(below: 1_000_000_000)), "undone": false]
  }

  private mutating func makeTitle() -> String {
    random.next(below: 3) == 0
      ? Self.otherScripts[Int(random.next(below: UInt64(Self.otherScripts.count)))]
      : makeWord() + " " + makeWord()
  }

  private mutating func makeProse() -> String {
    var prose = ""
    for _ in 0..<random.next(below: 40) {
      switch random.next(below: 24) {
      case 0: prose += "\"\(makeWord())\" "
      case 1: prose += "\(makeWord()).\n"
      case 2: prose += makeTitle() + " "
      default: prose += makeWord() + " "
      }
    }
    return prose
  }

  private mutating func makeWord() -> String {
    Self.words[Int(random.next(below: UInt64(Self.words.count)))]
  }
}

/// SplitMix64: a few lines, and the same numbers everywhere.
struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func next(below bound: UInt64) -> UInt64 {
    next() % bound
  }
}

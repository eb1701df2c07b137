import Testing

@testable import LockstepHTTP

@Suite("Bodies in pieces", .timeLimit(.minutes(10)))
struct BodyPiecesTests {
  @Test("Slices of any length have all bytes in order, whatever the lengths of the arrays are")
  func slices() {
    var random = Generator(seed: testSeed())
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    for _ in 0..<200 {
      let arrays = (0..<below(12)).map { _ in
        (0..<(below(4) == 0 ? 0 : below(40))).map { _ in UInt8(below(256)) }
      }
      let body = BodyPieces(arrays)
      #expect(body.count == arrays.joined().count && body.joined == Array(arrays.joined()))
      var (reader, read) = (body.reader, [UInt8]())
      while reader.remaining > 0 {
        let (before, limit) = (read.count, 1 + below(50))
        reader.read(upTo: limit, into: &read)
        #expect(read.count == min(before + limit, body.count) && reader.remaining == body.count - read.count)
      }
      reader.read(upTo: 10, into: &read)
      #expect(read == body.joined)
    }
  }
}

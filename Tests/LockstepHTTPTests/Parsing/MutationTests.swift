import LockstepHTTP
import Testing

@Suite("No bytes crash the parser or have two meanings", .timeLimit(.minutes(10)))
struct MutationTests {
  /// The seed is the same in every run, unless LOCKSTEP_TEST_SEED gives another.
  private static let seed = testSeed()

  private static let limits = {
    var limits = Limits()
    limits.requestLine = 60
    limits.headerSection = 120
    limits.headerFields = 5
    limits.chunkLine = 30
    return limits
  }()

  @Test("Changed requests of clients", arguments: 0..<40)
  func mutations(round: Int) {
    var generator = Generator(seed: Self.seed &+ UInt64(round))
    for _ in 0..<40 {
      guard var bytes = ByteStream.all.randomElement(using: &generator)?.bytes else { return }
      for _ in 0..<Int.random(in: 1...4, using: &generator) { generator.mutate(&bytes) }
      expectOneMeaning(bytes, &generator)
    }
  }

  @Test("Meaningful pieces in any order", arguments: 0..<20)
  func fragments(round: Int) {
    var generator = Generator(seed: Self.seed &+ 1000 &+ UInt64(round))
    for _ in 0..<50 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 1...20, using: &generator) { bytes += generator.fragment() }
      expectOneMeaning(bytes, &generator)
    }
  }

  @Test("Random bytes", arguments: 0..<10)
  func noise(round: Int) {
    var generator = Generator(seed: Self.seed &+ 2000 &+ UInt64(round))
    for _ in 0..<100 {
      let count = Int.random(in: 0...60, using: &generator)
      expectOneMeaning((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }, &generator)
    }
  }

  private func expectOneMeaning(_ bytes: [UInt8], _ generator: inout Generator) {
    for limits in [Limits(), Self.limits] {
      let whole = conversation([bytes], limits: limits)
      let explanation: Comment = "seed \(Self.seed), bytes \(text(bytes).debugDescription)"
      #expect(conversation(bytes.map { [$0] }, limits: limits) == whole, explanation)
      for _ in 0..<3 {
        let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &generator) }.sorted()
        let parts = zip([0] + cuts, cuts + [bytes.count]).map { Array(bytes[$0..<$1]) }
        #expect(conversation(parts, limits: limits) == whole, explanation)
      }
    }
  }
}
